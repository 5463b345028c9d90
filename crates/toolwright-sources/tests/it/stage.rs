//! What every test needs: declaring a command in a line, running it through a catalogue, and looking at what is left of it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use toolwright::{CallError, Invocation, Registry, ToolDef, ToolResult, Value};
use toolwright_sources::command::{ArgTemplate, CommandTool};

/// A command that reads, from its argv.
pub(crate) fn command(argv: &[&str]) -> CommandTool {
    let argv = argv.iter().map(|text| ArgTemplate::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))).collect();
    let mut command = CommandTool::new("probe", "A command under test", argv);
    command.effect = Some(toolwright::Effect::read());
    command.timeout = Duration::from_secs(20);
    command.grace = Duration::from_millis(200);
    command
}

/// A program that prints each of its arguments, ended by a NUL.
pub(crate) fn print_args(templates: &[&str]) -> CommandTool {
    let mut argv = vec!["printf", "%s\\0"];
    argv.extend(templates);
    command(&argv)
}

/// A shell script with the given arguments; `$1` is the first.
pub(crate) fn script(folder: &Path, text: &str, args: &[&str]) -> CommandTool {
    let file = folder.join("script.sh");
    std::fs::write(&file, text).unwrap();
    let file = ArgTemplate::literal(file.to_str().unwrap());
    let mut command = command(&["sh"]);
    command.argv.push(file);
    command.argv.extend(args.iter().map(|text| ArgTemplate::parse(text).unwrap()));
    command
}

pub(crate) async fn invoke(tool: ToolDef, input: Value) -> Result<ToolResult, CallError> {
    Registry::new().with(tool).unwrap().seal().invoke(Invocation::new("probe", input), ()).await
}

pub(crate) async fn run(command: CommandTool, input: Value) -> Result<Value, CallError> {
    let tool = command.into_tool().unwrap_or_else(|error| panic!("{error:#?}"));
    invoke(tool, input).await.map(|result| result.output.unwrap())
}

pub(crate) async fn fails(command: CommandTool, input: Value) -> CallError {
    match run(command, input).await {
        Ok(output) => panic!("it gave {output}"),
        Err(error) => error,
    }
}

/// The arguments that [`print_args`] printed.
pub(crate) fn printed(output: &Value) -> Vec<String> {
    let text = output.as_str().unwrap();
    let mut args: Vec<String> = text.split('\0').map(str::to_owned).collect();
    assert_eq!(args.pop().as_deref(), Some(""), "each argument ends with a NUL");
    args
}

/// One of the details of a failure.
pub(crate) fn detail(error: &CallError, name: &str) -> Value {
    error.to_value().pointer(&format!("/details/{name}")).cloned().unwrap_or(Value::Null)
}

/// The numbers that a script wrote into `file`, once there are `count` of them.
#[cfg(unix)]
pub(crate) async fn pids(file: &Path, count: usize) -> Vec<i32> {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let pids: Vec<i32> = text.lines().map(|line| line.trim().parse().unwrap()).collect();
        if pids.len() >= count && text.ends_with('\n') {
            return pids;
        }
        assert!(Instant::now() < until, "the script wrote {pids:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits until none of `pids` runs any more.
#[cfg(unix)]
pub(crate) async fn all_gone(pids: &[i32]) {
    let until = Instant::now() + Duration::from_secs(5);
    while let Some(pid) = pids.iter().find(|pid| is_alive(**pid)) {
        assert!(Instant::now() < until, "process {pid} is still there");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Whether the process runs; a zombie that its parent has not taken yet does not.
#[cfg(unix)]
pub(crate) fn is_alive(pid: i32) -> bool {
    let exists = rustix::process::test_kill_process(rustix::process::Pid::from_raw(pid).unwrap()).is_ok();
    exists && state(pid) != Some('Z')
}

/// Waits until a child of ours is out of the process table: not even a zombie.
#[cfg(unix)]
pub(crate) async fn reaped(pid: i32) {
    let until = Instant::now() + Duration::from_secs(5);
    while rustix::process::test_kill_process(rustix::process::Pid::from_raw(pid).unwrap()).is_ok() {
        assert!(Instant::now() < until, "process {pid} is still in the table, state {:?}", state(pid));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[cfg(unix)]
fn state(pid: i32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

pub(crate) fn path_in(folder: &tempfile::TempDir, name: &str) -> (PathBuf, ArgTemplate) {
    let path = folder.path().join(name);
    let template = ArgTemplate::literal(path.to_str().unwrap());
    (path, template)
}
