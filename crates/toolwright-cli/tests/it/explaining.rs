//! What `explain` shows is what happens: the example of each page is run, just as it stands there.

use crate::world::World;

/// Pages of every code, as the command gives them.
fn pages(world: &World) -> Vec<serde_json::Value> {
    let list: serde_json::Value = serde_json::from_str(&world.run("explain --format json").out).unwrap();
    let codes = list.pointer("/codes").unwrap().as_array().unwrap().iter().map(|entry| entry.pointer("/code").unwrap().as_str().unwrap());
    codes.map(|code| serde_json::from_str(&world.run(&format!("explain {code} --format json")).out).unwrap()).collect()
}

/// Every code in a document of the command, wherever it stands.
fn codes(document: &serde_json::Value, found: &mut Vec<String>) {
    match document {
        serde_json::Value::Array(items) => items.iter().for_each(|item| codes(item, found)),
        serde_json::Value::Object(members) => {
            found.extend(members.get("code").and_then(|code| code.as_str()).map(str::to_owned));
            members.values().for_each(|member| codes(member, found));
        }
        _ => {}
    }
}

#[cfg(unix)]
#[test]
fn the_example_of_each_page_produces_its_code() {
    let world = World::new("explained");
    let (mut run, mut wrong) = (0, Vec::new());
    for page in pages(&world) {
        let code = page["code"].as_str().unwrap();
        let (Some(file), Some(command)) = (page["example"]["file"].as_str(), page["example"]["command"].as_str()) else { continue };
        // What an example does must not be seen by the next.
        let world = World::new(&format!("explained/{code}"));
        world.write("toolwright.yaml", file);
        let words: Vec<&str> = command.split_whitespace().chain(["--format", "json"]).collect();
        let done = world.run_args(&words);
        let mut said = Vec::new();
        // A question stands before the document that says that nobody answered it.
        let documents = [&done.out, &done.err].into_iter().filter_map(|text| serde_json::from_str(text.get(text.find("{\n")?..)?).ok());
        documents.for_each(|document| codes(&document, &mut said));
        if said.first().map(String::as_str) != Some(code) {
            wrong.push(format!("`{code}` was to come first, and there is {said:?}: {done:?}"));
        }
        run += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(run > 35, "{run}");
}

/// What no file and no Rust can show is expected by a test of the crate that the page names.
#[test]
fn what_is_told_in_words_is_tested_where_the_page_says() {
    let world = World::new("explained_words");
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for page in pages(&world) {
        let (Some(_), Some(by)) = (page["example"]["words"].as_str(), page["example"]["by"].as_str()) else { continue };
        let code = page["code"].as_str().unwrap();
        if by.is_empty() {
            assert_eq!(code, "step_replaced", "nothing produces it");
            continue;
        }
        let tests = std::fs::read_dir(root.join(by).join("tests/it")).unwrap().map(|entry| entry.unwrap().path());
        let texts =
            tests.filter(|path| path.is_file() && !path.ends_with("explaining.rs")).map(|path| std::fs::read_to_string(path).unwrap());
        assert!(texts.into_iter().any(|text| text.contains(code)), "no test of `{by}` expects `{code}`");
    }
}

/// No text in the sources is given as a code that has no page.
#[test]
fn every_code_that_the_command_gives_has_a_page() {
    let world = World::new("explained_all");
    let known: Vec<String> = pages(&world).iter().map(|page| page["code"].as_str().unwrap().to_owned()).collect();
    let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            for start in [
                "Finding::error(\"",
                "Finding::warning(\"",
                "pub(crate) const STEP_MISSING: &str = \"",
                "pub(crate) const STEP_CYCLE: &str = \"",
            ] {
                for code in text.split(start).skip(1).filter_map(|rest| rest.split('"').next()).filter(|code| *code != "code") {
                    assert!(known.iter().any(|known| known == code), "`{code}` of {} has no page", path.display());
                    seen += 1;
                }
            }
        }
    }
    assert!(seen >= 3, "{seen}");
}
