use toolwright::json;

use super::*;

fn plain() -> Profile {
    Profile::named("gemini").unwrap()
}

fn standard(schema: Value) -> Value {
    input(Some(&schema), &Profile::default()).unwrap().schema
}
