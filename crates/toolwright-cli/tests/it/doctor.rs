//! `toolwright doctor`: one look at every source, whatever is wrong with another.

use serde_json::Value;

use crate::world::{World, golden};

/// A server that lists its tools in pages, and repeats a cursor for ever when it is called `loop`.
const PAGED: &str = r#"#!/bin/sh
reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
page() { at=$1; tools=; while [ $at -lt $2 ]; do tools="$tools${tools:+,}{\"name\":\"t$at\",\"inputSchema\":{\"type\":\"object\"}}"; at=$((at + 1)); done; }
while IFS= read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case $line in
    *'"method":"initialize"'*) reply '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"paged","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      echo listed >>"$1.txt"
      case $1,$line in
        loop,*) page 0 8; reply "{\"tools\":[$tools],\"nextCursor\":\"c1\"}" ;;
        *'"c2"'*) page 200 250; reply "{\"tools\":[$tools]}" ;;
        *'"c1"'*) page 100 200; reply "{\"tools\":[$tools],\"nextCursor\":\"c2\"}" ;;
        *) page 0 100; reply "{\"tools\":[$tools],\"nextCursor\":\"c1\"}" ;;
      esac ;;
    *'"method":"notifications/'*) ;;
    *) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}\n' "$id" ;;
  esac
done
"#;

fn source(doctor: &Value, name: &str) -> Value {
    doctor["sources"].as_array().unwrap().iter().find(|source| source["name"] == name).unwrap().clone()
}

/// C39
#[test]
fn pages_are_counted_and_a_list_without_an_end_ends() {
    let world = World::new("doctor_pages");
    world.write("paged.sh", PAGED);
    world.write(
        "toolwright.yaml",
        "sources:\n  loop: {command: sh, args: [paged.sh, loop]}\n  many: {command: sh, args: [paged.sh, many]}\n",
    );
    let began = std::time::Instant::now();
    let doctor = world.json("doctor");
    assert!(began.elapsed() < std::time::Duration::from_secs(5));
    let (repeats, many) = (source(&doctor, "loop"), source(&doctor, "many"));
    assert_eq!((repeats["tools"].as_u64(), repeats["ok"].as_bool()), (Some(8), Some(true)));
    assert!(repeats["warnings"][0].as_str().unwrap().contains("`c1`"), "{repeats}");
    assert!(world.read("loop.txt").lines().count() <= 3);
    assert_eq!((many["tools"].as_u64(), &many["pages"]), (Some(250), &serde_json::json!([100, 100, 50])));
    assert_eq!(many["warnings"], serde_json::json!([]));
    assert_eq!(doctor["budget"]["tools"], 258);
    let bytes = many["bytes"].as_u64().unwrap();
    assert!(bytes > 250 * 30 && many["tokens"].as_u64() == Some(bytes.div_ceil(4)), "{many}");
}

#[test]
fn each_source_says_what_is_wrong_with_it_and_how_to_mend_it() {
    let mut world = World::new("doctor_wrong");
    world.copy("server.sh", "server.sh");
    world.set("TOKEN", "hunter2-canary");
    world.write(
        "toolwright.yaml",
        r#"
sources:
  small: {command: sh, args: [server.sh], env: {TOKEN: "${TOKEN}"}}
  typo: {command: no-such-program, args: [x]}
  dies: {command: sh, args: [-c, "echo \"no database at $TOKEN\" >&2; exit 3"], env: {TOKEN: "${TOKEN}"}}
  silent: {command: sleep, args: ["60"], startTimeout: 300ms}
  away: {url: "http://127.0.0.1:9/mcp", startTimeout: 2s}
  cmd: {tools: {hi: {argv: [echo, hi], effect: read}, gone: {argv: [no-such-command], effect: read}}}
tools:
  small_store: {name: store, effect: write}
"#,
    );
    let doctor = world.run("doctor --format json");
    assert_eq!(doctor.code, 10, "{}", doctor.err);
    assert!(!doctor.out.contains("canary"), "{}", doctor.out);
    let document: Value = serde_json::from_str(&doctor.out).unwrap();
    let small = source(&document, "small");
    assert_eq!((small["ok"].as_bool(), small["state"].as_str()), (Some(true), Some("ready")));
    assert_eq!((small["protocol"].as_str(), small["server"].as_str()), (Some("2025-06-18"), Some("small 1")));
    assert_eq!((small["era"].as_str(), small["failures"].as_u64()), (Some("sessions"), Some(0)));
    assert_eq!(small["renamed"], serde_json::json!([{"from": "small_store", "to": "store"}]));
    assert!(small["programs"][0]["found"].as_str().unwrap().ends_with("/sh"), "{small}");
    for (name, code, words) in [
        ("typo", "upstream_start_failed", "no-such-program"),
        ("dies", "upstream_start_failed", "no database at [secret]"),
        ("silent", "upstream_start_failed", "300ms"),
        ("cmd", "command_not_found", "no-such-command"),
    ] {
        let source = source(&document, name);
        let problem = &source["problems"][0];
        assert_eq!((source["ok"].as_bool(), problem["code"].as_str()), (Some(false), Some(code)), "{source}");
        assert!(problem["message"].as_str().unwrap().contains(words), "{source}");
        assert!(problem["help"].is_string(), "{source}");
    }
    assert_eq!(source(&document, "away")["ok"], false);
    // Each is looked at by hand in its own way.
    for (name, look) in [("away", "curl"), ("dies", "command")] {
        let help = source(&document, name)["problems"][0]["help"].as_str().unwrap().to_owned();
        assert!(help.contains(look) && !(look == "curl" && help.contains("command")), "{name}: {help}");
    }
    // Where it was searched, and in which line of the file.
    let typo = source(&document, "typo");
    let path = std::env::var("PATH").unwrap();
    let searched: Vec<&str> = typo["programs"][0]["searched"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(searched, path.split(':').filter(|folder| !folder.is_empty()).collect::<Vec<_>>());
    assert_eq!((typo["place"].as_str(), typo["programs"][0]["found"].is_null()), (Some("toolwright.yaml:4"), true));
    assert!(source(&document, "dies")["stderrTail"].as_str().unwrap().contains("no database"), "{document}");
}

/// C27: what a server says on the side is kept, its end, and shown.
#[test]
fn a_flood_on_stderr_is_drained_and_its_end_is_shown() {
    let world = World::new("doctor_flood");
    world.copy("server.sh", "server.sh");
    let server = world.read("server.sh");
    let flood = "head -c 10000000 /dev/zero | tr '\\0' 'x' >&2; echo ' the end of it' >&2\nwhile IFS=";
    world.write("flood.sh", &server.replacen("while IFS=", flood, 1));
    world.write("toolwright.yaml", "sources:\n  flood: {command: sh, args: [flood.sh]}\n");
    let flood = source(&world.json("doctor"), "flood");
    let tail = flood["stderrTail"].as_str().unwrap();
    assert!(tail.ends_with("the end of it") && tail.len() <= 64 * 1024, "{} bytes", tail.len());
    assert_eq!(flood["ok"], true);
    let human = world.run("doctor");
    assert!(human.out.contains("the end of it") && human.out.len() < 10_000, "{}", human.out);
}

#[test]
fn what_is_not_as_accepted_is_seen() {
    let world = World::new("doctor_lock");
    world.copy("server.sh", "server.sh");
    world.write("toolwright.yaml", "sources:\n  small: {command: sh, args: [server.sh]}\n");
    let fresh = world.run("doctor");
    assert!(fresh.code == 0 && fresh.out.contains("not in it: `toolwright lock`"), "{}", fresh.out);
    assert_eq!(world.run("lock --yes").code, 0);
    let human = world.run("doctor").out;
    let steady: Vec<&str> = human.lines().filter(|line| !line.contains("program")).collect();
    let steady = steady.join("\n");
    let (before, after) = steady.split_once("listed after ").unwrap();
    golden("doctor.txt", &format!("{before}listed after N ms{}\n", after.split_once(" ms").unwrap().1));
    world.write("server.sh", &world.read("server.sh").replace("Says hello", "Says anything"));
    let changed = world.run("doctor --format json");
    assert_eq!(changed.code, 12, "{}", changed.err);
    let small = source(&serde_json::from_str(&changed.out).unwrap(), "small");
    assert_eq!(small["withheld"][0]["name"], "show", "{small}");
    let lock = world.read("toolwright.lock");
    world.write("toolwright.lock", "nothing");
    let broken = world.run("doctor --format plain");
    assert!(broken.code == 20 && broken.out.contains("small\tlock_unusable\t4\t"), "{}", broken.out);
    world.write("toolwright.lock", &lock.replace("Says hello", "Says no"));
    let broken = world.run("doctor --format plain");
    assert!(broken.code == 20 && broken.out.contains("small\tlock_unusable\t4\t"), "{}", broken.out);
}
