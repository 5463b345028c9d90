//! Command lines as tools: an argv template, never a shell.
//!
//! A [`CommandTool`] declares a program, its arguments as templates and what its output is; [`CommandTool::into_tool`] checks
//! the declaration and makes a tool of it. See [`ArgTemplate`] for the templates.
//!
//! # Arguments
//!
//! Every value is exactly one argv element, or a part of one. Texts go as they are, booleans as `true` or `false`, numbers in
//! plain decimal digits. Objects go as compact JSON where the input schema says `type: object` (and arrays where it allows an
//! array beside something else); anything else structured is refused. On stdin every value may go as JSON.
//!
//! A value can never become an option. A value at the start of an element that begins with `-` is refused with `invalid_input`
//! unless a `--` stands before it: one that the template has, or one that `end_of_options` puts in. It is put before the first
//! element that starts with an argument (if that one is left out, before the next one that is not), and only when nothing
//! behind that place is an option; otherwise the declaration is refused. An option whose value is an element of its own
//! (`-n`, `{count}`) is better written as one element (`-n{count}`, `--lines={count}`): there a value may begin with anything.
//! An argument may complete the name of an option (`--{mode}`) only if its `enum` in the input schema lists what it can be.
//!
//! # Idempotency keys
//!
//! A declaration can say where the program finds the key of the call ([`KeyTo`]): an environment variable, or an argument of the
//! templates that no caller gives. It is the same on every attempt at the same call of the same run.
//!
//! # Processes
//!
//! The program is searched in `PATH` (relative entries are skipped), runs in a process group of its own with a small
//! environment, and nothing of the group outlives the call: not after success, a time-out, a cancellation, too much output, or
//! when the call is dropped. A program that is to stay must leave the group itself (`setsid`) and end its own parent.
//! A host that wants the same when it is killed itself installs a [`guard`].
//!
//! ```
//! use toolwright::{Effect, Invocation, Registry, json};
//! use toolwright_sources::command::{ArgTemplate, CommandTool, Stdout};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let argv = ["printf", "%s\\n", "{words*}"].map(ArgTemplate::parse).into_iter().collect::<Result<_, _>>()?;
//! let mut command = CommandTool::new("say", "Prints each word on a line of its own", argv);
//! command.effect = Some(Effect::read());
//! command.stdout = Stdout::Lines;
//!
//! let catalog = Registry::new().with(command.into_tool()?)?.seal();
//! let result = catalog.invoke(Invocation::new("say", json!({ "words": ["; ls", "$HOME"] })), ()).await?;
//! assert_eq!(result.output, Some(json!(["; ls", "$HOME"])));
//!
//! let refused = catalog.invoke(Invocation::new("say", json!({ "words": ["--version"] })), ()).await;
//! assert_eq!(refused.unwrap_err().code(), "invalid_input");
//! # Ok::<(), Box<dyn std::error::Error>>(()) })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use toolwright::value::Text;
use toolwright::{Answer, BoxFuture, Call, Effect, Example, Handler, Origin, ToolDef, ToolError, Value};

mod argv;
mod error;
mod failure;
mod lookup;
mod mask;
mod number;
mod options;
mod output;
mod plan;
mod process;
mod signature;
mod tail;
mod template;

pub use error::{CommandError, CommandIssue, CommandIssueKind, Place, RefusedArgument};
pub use lookup::{Environment, Lookup};
pub use output::Stdout;
pub use process::guard;
pub use template::{ArgTemplate, Placeholder, TemplateError, TemplateErrorKind};

use failure::{Remains, Report};
use mask::Secrets;
use plan::{Declared, Plan};
use process::{Bounds, End, Finished, Launch};
use tail::Tail;

/// How long a program may run when nothing else is said.
pub const TIMEOUT_DEFAULT: Duration = Duration::from_secs(60);

/// How long a program has between the polite signal and the other one.
pub const GRACE_DEFAULT: Duration = Duration::from_secs(2);

/// How much a program may print when nothing else is said.
pub const STDOUT_BYTES_MAX_DEFAULT: u64 = 16 * 1024 * 1024;

/// How much of the end of stderr is kept when nothing else is said.
pub const STDERR_BYTES_KEPT_DEFAULT: usize = 64 * 1024;

/// How a program gets the idempotency key of a call: [`Call::idempotency_key`], the same on every attempt at it.
///
/// A program that keeps the keys of what it did can answer the second attempt without doing it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyTo {
    /// In this environment variable.
    Variable(String),
    /// In the place of this argument in the templates. No caller gives it, and it is not in the published input schema.
    Argument(String),
}

/// A command line that is to become a tool.
#[derive(Clone)]
pub struct CommandTool {
    /// The id of the tool.
    pub id: Text,
    /// Its name for people.
    pub title: Option<Text>,
    /// What it does, for models and people.
    pub description: Text,
    /// The program, fixed text, and the templates of its arguments.
    pub argv: Vec<ArgTemplate>,
    /// What is written to its stdin; `None`: stdin is empty.
    pub stdin: Option<ArgTemplate>,
    /// Its declared effect; `None` is undeclared.
    pub effect: Option<Effect>,
    /// JSON Schema of the arguments; `None`: derived from the placeholders.
    pub input_schema: Option<Value>,
    /// JSON Schema of the output; `None`: what `stdout` implies.
    pub output_schema: Option<Value>,
    /// Runnable examples.
    pub examples: Vec<Example>,
    /// Its working directory; `None`: ours. A relative program path is seen from here.
    pub cwd: Option<PathBuf>,
    /// Its environment.
    pub env: Environment,
    /// How its stdout is read.
    pub stdout: Stdout,
    /// The exit codes that are a success.
    pub success_codes: Vec<i32>,
    /// How long it may run.
    pub timeout: Duration,
    /// How long it has between the polite signal and the other one.
    pub grace: Duration,
    /// How much it may print to stdout.
    pub stdout_bytes_max: u64,
    /// How much of the end of its stderr is kept.
    pub stderr_bytes_kept: usize,
    /// Whether the program knows `--`, and wants it before the first element that starts with an argument.
    pub end_of_options: bool,
    /// Where its program finds the idempotency key of the call; `None`: nowhere.
    pub idempotency_key: Option<KeyTo>,
    /// Where the tool comes from.
    pub origin: Origin,
    /// Values that must not appear in an error, in its details or in kept stderr.
    pub secrets: Vec<String>,
}

impl fmt::Debug for CommandTool {
    /// Without the secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let argv: Vec<&str> = self.argv.iter().map(ArgTemplate::as_str).collect();
        let secrets = Secrets::new(self.secrets.iter().cloned());
        f.debug_struct("CommandTool")
            .field("id", &self.id)
            .field("argv", &secrets.mask_text(&argv.join(" ")))
            .field("env", &self.env)
            .field("secrets", &self.secrets.len())
            .finish_non_exhaustive()
    }
}

impl CommandTool {
    /// A command with the defaults of this module, an undeclared effect and arguments taken from the placeholders.
    pub fn new(id: impl Into<Text>, description: impl Into<Text>, argv: Vec<ArgTemplate>) -> Self {
        let id = id.into();
        let origin = Origin { source: Text::new(), kind: "command".into(), name: id.clone(), effect_from: Text::new() };
        Self {
            id,
            title: None,
            description: description.into(),
            argv,
            stdin: None,
            effect: None,
            input_schema: None,
            output_schema: None,
            examples: Vec::new(),
            cwd: None,
            env: Environment::default(),
            stdout: Stdout::default(),
            success_codes: vec![0],
            timeout: TIMEOUT_DEFAULT,
            grace: GRACE_DEFAULT,
            stdout_bytes_max: STDOUT_BYTES_MAX_DEFAULT,
            stderr_bytes_kept: STDERR_BYTES_KEPT_DEFAULT,
            end_of_options: false,
            idempotency_key: None,
            origin,
            secrets: Vec::new(),
        }
    }

    /// What stands for its code: another command line is another tool, also in a run that is taken up again. Values of variables
    /// are not in it, since they may be secrets, and neither is what only bounds a call.
    fn version(&self) -> String {
        let texts = |texts: &mut dyn Iterator<Item = &str>| Value::array(texts.map(Value::from));
        let key = match &self.idempotency_key {
            None => Value::Null,
            Some(KeyTo::Variable(name)) => Value::from(format!("env {name}")),
            Some(KeyTo::Argument(name)) => Value::from(format!("argument {name}")),
        };
        let code = Value::array([
            texts(&mut self.argv.iter().map(ArgTemplate::as_str)),
            self.stdin.as_ref().map_or(Value::Null, |stdin| stdin.as_str().into()),
            self.cwd.as_ref().map_or(Value::Null, |cwd| cwd.to_string_lossy().into_owned().into()),
            self.env.clean.into(),
            texts(&mut self.env.set.iter().map(|(name, _)| name.as_str())),
            format!("{:?}", self.stdout).into(),
            Value::array(self.success_codes.iter().copied()),
            self.end_of_options.into(),
            key,
        ]);
        toolwright::Fingerprint::of(code.to_json_string()).to_string()
    }

    fn declared(&self) -> Declared<'_> {
        Declared {
            argv: &self.argv,
            stdin: self.stdin.as_ref(),
            input_schema: self.input_schema.as_ref(),
            end_of_options: self.end_of_options,
            env: &self.env,
            idempotency_key: self.idempotency_key.as_ref(),
        }
    }

    /// What every call with these arguments would be refused for, whatever the values of the `unknown` ones are: a value that the
    /// program would read as an option, one that no command line can hold. Arguments that are neither are not given. Nothing is
    /// said of a declaration that is wrong itself.
    pub fn refused(&self, arguments: &Value, unknown: &[&str]) -> Vec<RefusedArgument> {
        let Ok((plan, _)) = plan::plan(&self.declared()) else { return Vec::new() };
        let refused = argv::refused(&plan, arguments, unknown, &Secrets::new(self.secrets.iter().cloned()));
        refused.into_iter().map(|issue| RefusedArgument { pointer: issue.pointer, message: issue.message, help: issue.help }).collect()
    }

    /// Checks the declaration and makes a tool of it. Nothing is started and no file is looked at.
    ///
    /// # Errors
    /// Everything that is wrong with the declaration, each with its place.
    pub fn into_tool(self) -> Result<ToolDef, CommandError> {
        let (plan, input_schema) = plan::plan(&self.declared()).map_err(|issues| CommandError { tool: self.id.to_string(), issues })?;
        let version = self.version();
        let mut origin = self.origin;
        origin.kind = "command".into();
        if self.effect.is_some() && origin.effect_from.is_empty() {
            origin.effect_from = "declared".into();
        }
        let mut builder = toolwright::tool(self.id, self.description).version(version).input_schema(input_schema).origin(origin);
        if let Some(title) = self.title {
            builder = builder.title(title);
        }
        if let Some(schema) = self.output_schema.or_else(|| self.stdout.default_schema()) {
            builder = builder.output_schema(schema);
        }
        for example in self.examples {
            builder = builder.example(example);
        }
        let has_side_effects = self.effect.as_ref().is_none_or(Effect::has_side_effects);
        if let Some(effect) = self.effect {
            builder = builder.effect(effect);
        }
        Ok(builder.handler(Runner {
            plan,
            cwd: self.cwd,
            env: self.env,
            idempotency_key: self.idempotency_key,
            stdout: self.stdout,
            success_codes: self.success_codes,
            bounds: Bounds { timeout: self.timeout, grace: self.grace, stdout_bytes_max: self.stdout_bytes_max },
            stderr_bytes_kept: self.stderr_bytes_kept,
            secrets: Secrets::new(self.secrets),
            has_side_effects,
        }))
    }
}

/// The arguments with the key among them, which nobody else gives.
fn with_key(input: &Value, name: &str, key: String) -> Value {
    if !input.is_null() && input.as_object().is_none() {
        return input.clone();
    }
    let given = input.as_object().into_iter().flat_map(|given| given.iter());
    let others = given.filter(|(other, _)| **other != *name).map(|(name, value)| (name.clone(), value.clone()));
    Value::object(others.chain([(name.into(), Value::from(key))]))
}

/// The body of the tool.
struct Runner {
    plan: Plan,
    cwd: Option<PathBuf>,
    env: Environment,
    idempotency_key: Option<KeyTo>,
    stdout: Stdout,
    success_codes: Vec<i32>,
    bounds: Bounds,
    stderr_bytes_kept: usize,
    secrets: Secrets,
    has_side_effects: bool,
}

impl Handler for Runner {
    fn handle<'a>(&'a self, input: Value, call: Call) -> BoxFuture<'a, Result<Answer, ToolError>> {
        Box::pin(self.run(input, call))
    }
}

impl Runner {
    async fn run(&self, input: Value, call: Call) -> Result<Answer, ToolError> {
        let launch = self.launch(input, &call)?;
        if call.cancel().is_cancelled() {
            return Err(self.report().cancelled());
        }
        let mut stderr = Tail::new(self.stderr_bytes_kept, &self.secrets);
        let finished = process::run(launch, self.bounds, &mut stderr, call.cancel().cancelled())
            .await
            .map_err(|error| self.report().not_started(&error, self.cwd.as_deref()))?;
        self.answer(finished, &stderr)
    }

    fn report(&self) -> Report<'_> {
        Report { program: &self.plan.program, secrets: &self.secrets, has_side_effects: self.has_side_effects }
    }

    /// Everything that is needed to start the program; nothing has happened yet.
    fn launch(&self, mut input: Value, call: &Call) -> Result<Launch, ToolError> {
        let mut env = self.env.resolve(std::env::vars_os());
        match &self.idempotency_key {
            Some(KeyTo::Variable(name)) => lookup::set(&mut env, name, &call.idempotency_key()),
            Some(KeyTo::Argument(name)) => input = with_key(&input, name, call.idempotency_key()),
            None => {}
        }
        let rendered = argv::render(&self.plan, &input, &self.secrets).map_err(|issues| self.report().invalid_arguments(&issues))?;
        // A clean environment without `PATH` does not mean that there are no programs.
        let variable = |name: &str| lookup::variable(&env, name).map(ToOwned::to_owned).or_else(|| std::env::var_os(name));
        let cwd = self.cwd.as_deref();
        let program = lookup::find_program(&self.plan.program, cwd, variable("PATH").as_deref(), variable("PATHEXT").as_deref())
            .map_err(|missing| self.report().not_found(&missing, cwd))?;
        Ok(Launch {
            program,
            name: self.plan.program.clone().into(),
            args: rendered.args.into_iter().map(Into::into).collect(),
            cwd: self.cwd.clone(),
            env,
            stdin: rendered.stdin.map(String::into_bytes),
        })
    }

    fn answer(&self, finished: Finished, stderr: &Tail) -> Result<Answer, ToolError> {
        let Finished { end, status, stdout, held_open } = finished;
        let stderr = stderr.show(&self.secrets);
        let remains = |stdout| Remains { status, stdout, stderr: stderr.clone() };
        if end != End::Exited {
            let remains = remains(stdout);
            return Err(self.report().stopped(end, self.bounds.timeout, self.bounds.stdout_bytes_max, &remains));
        }
        let code = status.and_then(|status| status.code()).filter(|code| self.success_codes.contains(code));
        let Some(code) = code else { return Err(self.report().exited(&self.success_codes, &remains(stdout))) };
        let read = match output::read(stdout, self.stdout, &self.secrets) {
            Ok(read) => read,
            Err((stdout, problem)) => return Err(self.report().unreadable(&problem, &remains(stdout))),
        };
        let mut answer = Answer::new(read.value).content_type(self.stdout.content_type());
        if code != 0 || !stderr.text.is_empty() {
            answer = answer.details(Value::object([("exitCode", Value::from(code)), ("stderr", Value::from(stderr.text))]));
        }
        if let Some(note) = read.note {
            answer = answer.note(note);
        }
        if held_open {
            answer = answer.note("a process the program had started still held its output open, and was killed");
        }
        Ok(answer)
    }
}
