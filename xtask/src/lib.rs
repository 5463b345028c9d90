//! The tasks behind `cargo xtask`: test, tidy, cases, bench, crash, and those that meet a server.
//!
//! Reading order: `suite` is what `cargo xtask test` runs and in which order; `tidy` is every rule of the house that
//! no compiler holds; `bench` measures in ratios; `crash` kills the binary; `conformance` and `clients` meet
//! `toolwright serve` (`served` starts it, `mcp` speaks to it, `peers` installs who else does). None of it knows how the product works
//! inside.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a task talks to the terminal it was started from")]

use std::process::ExitCode;

mod bench;
mod cases;
mod chance;
mod clients;
mod conformance;
mod crash;
#[cfg(doctest)]
mod doctests;
mod documents;
mod fleet;
mod hostile;
mod mcp;
mod peers;
mod repo;
mod served;
mod soak;
mod stage;
mod suite;
mod tidy;

const USAGE: &str = "\
usage: cargo xtask <task>

  test [--hermetic]         everything CI runs; --hermetic needs cargo and git alone (no registry, no Node)
  tidy                      the rules of the house that no compiler holds
  cases FILE…               run executable case files (compose.jsonl, gate.jsonl, …)
  bench                     the ratios of one run: steps against a boxed echo call
  bench --peers             the same pipelines in the npm peer, alternating, with the bars
  bench --wiring            the slowest of 10,000 random pairs of schemas, and 1,000 composites checked over 500 tools
  bench --journal           what a step costs that is kept in a file, beside a plain append on the same disk, with the bars
  bench --gateway [--start] [--ours]
                            a server in front of another one: directly, through ours, through others, with the bars; --start: only the
                            time from its start to the first list; --ours: without the others
  bench --gate [--update]   callgrind instruction counts against xtask/callgrind-baseline.json
  crash [--kills N] [--races N] [--open-runs N] [--seed S] [--release]
                            kills runs of the real binary and takes them up again; counts what they did outside
  conformance [--stdio] [--http] [--alone] [SCENARIO]
                            the official suites against `toolwright serve` in front of our own server (a child, or over HTTP; --alone:
                            that server itself), and against our client
  clients [SCRIPT]          what people use to talk to MCP servers, scripted, against `toolwright serve`
  fleet                     twelve real servers behind one `toolwright serve`
  soak [--sessions N] [--busy N] [--seconds N]
                            many sessions for a long time: no failure, and memory that does not grow
  hostile [--messages N] [--seed S]
                            malformed messages over both transports, beside a client that must not notice
  help                      this text
";

/// Runs the task that `arguments` name and answers the exit code of the process: 0 ok, 1 something failed, 2 usage.
#[must_use]
pub fn run(arguments: &[String]) -> ExitCode {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["test"] => suite::run(suite::Reach::Full),
        ["test", "--hermetic"] => suite::run(suite::Reach::Hermetic),
        ["tidy"] => tidy::run(),
        ["cases", files @ ..] if !files.is_empty() => cases::run(files),
        ["bench", flags @ ..] => match bench::Options::parse(flags) {
            Ok(options) => bench::run(&options),
            Err(message) => return usage(&message),
        },
        ["crash", flags @ ..] => match crash::Options::parse(flags) {
            Ok(options) => crash::run(&options),
            Err(message) => return usage(&message),
        },
        ["conformance", flags @ ..] => match conformance::Options::parse(flags) {
            Ok(options) => conformance::run(&options),
            Err(message) => return usage(&message),
        },
        ["clients", script @ ..] if script.len() < 2 => clients::run(script.first().copied()),
        ["fleet"] => fleet::run(),
        ["soak", flags @ ..] => match soak::Options::parse(flags) {
            Ok(options) => soak::run(&options),
            Err(message) => return usage(&message),
        },
        ["hostile", flags @ ..] => match hostile::Options::parse(flags) {
            Ok(options) => hostile::run(&options),
            Err(message) => return usage(&message),
        },
        // Parts of `crash` that are processes of their own.
        ["crash-client", arguments @ ..] => crash::client::main(arguments),
        ["crash-fill", arguments @ ..] => crash::fill(arguments),
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        [] => return usage("no task given"),
        other => return usage(&format!("`{}` is no task", other.join(" "))),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn usage(message: &str) -> ExitCode {
    eprint!("xtask: {message}\n\n{USAGE}");
    ExitCode::from(2)
}
