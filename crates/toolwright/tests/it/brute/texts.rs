//! Texts that match a pattern, and texts in and out of formats.

use super::Dice;

/// For each format that is known, a text in it; they are out of each other's.
pub(super) const FORMATTED: [&str; 34] = [
    "2024-02-29T12:30:00Z",
    "1985-04-12T23:20:50.52+02:00",
    "2024-02-29",
    "2023-02-29",
    "12:30:00Z",
    "P3DT12H",
    "ada@example.com",
    "a.b+c@sub.example.org",
    "not an email",
    "example.com",
    "-bad-.host",
    "127.0.0.1",
    "256.0.0.1",
    "::1",
    "2001:db8::8a2e:370:7334",
    "https://example.com/a?b=c#d",
    "http://example.com",
    "ftp://files.example/x",
    "/relative/path",
    "a b",
    "http://exämple.com/ü",
    "üser@exämple.com",
    "{+path}/here{?q}",
    "{broken",
    "/a/b~1c",
    "a/b",
    "1/foo",
    "[a-z]+(x|y)",
    "[unclosed",
    "123e4567-e89b-12d3-a456-426614174000",
    "urn:uuid:123e4567-e89b-12d3-a456-426614174000",
    "SGVsbG8=",
    "{\"a\":1}",
    "mailto:x@y.z",
];

/// Texts that anybody may send.
pub(super) const PLAIN: [&str; 16] =
    ["text", "", "a", "x", "0", "42", "-1", "A", "hello world", "abc", "null", "true", "é", "😀", "a\nb", "AB12"];

/// How often a part that may repeat for ever is repeated, at most.
const REPEATS_MAX: usize = 4;

/// Some texts that match `pattern`, if it is written with what is known here; the caller checks them.
pub(super) fn matching(pattern: &str, count: usize, dice: &mut Dice) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for round in 0..count {
        let mut sampler = Sampler { pattern: pattern.chars().collect(), at: 0, round, dice, depth: 0 };
        let text = sampler.union();
        for text in [text.clone(), format!("{text}z"), format!("-{text}"), text.to_uppercase()] {
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
    }
    texts
}

struct Sampler<'d> {
    pattern: Vec<char>,
    at: usize,
    round: usize,
    dice: &'d mut Dice,
    depth: usize,
}

impl Sampler<'_> {
    fn peek(&self) -> Option<char> {
        self.pattern.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let found = self.peek();
        self.at += 1;
        found
    }

    fn eat(&mut self, wanted: char) -> bool {
        let there = self.peek() == Some(wanted);
        self.at += usize::from(there);
        there
    }

    /// One of the alternatives up to the end or the bracket that closes.
    fn union(&mut self) -> String {
        self.depth += 1;
        let mut branches = vec![self.sequence()];
        while self.eat('|') {
            branches.push(self.sequence());
        }
        self.depth -= 1;
        let chosen = if self.depth == 0 { self.round % branches.len() } else { self.dice.below(branches.len()) };
        branches.swap_remove(chosen)
    }

    fn sequence(&mut self) -> String {
        let mut text = String::new();
        while let Some(next) = self.peek() {
            if next == '|' || next == ')' || self.depth > 20 {
                break;
            }
            let from = self.at;
            let first = self.atom();
            let (least, most) = self.repetition();
            let times = match self.round {
                0 => least.max(usize::from(most > 0 && least == 0 && self.dice.below(2) == 0)),
                1 => least,
                2 => most,
                _ => least + self.dice.below(most - least + 1),
            };
            let after = self.at;
            for time in 0..times {
                if time == 0 {
                    text.push_str(&first);
                } else {
                    self.at = from;
                    let again = self.atom();
                    text.push_str(&again);
                }
            }
            self.at = after;
        }
        text
    }

    /// The least and the most often that the part before may come.
    fn repetition(&mut self) -> (usize, usize) {
        let bounds = match self.peek() {
            Some('*') => (0, REPEATS_MAX),
            Some('+') => (1, REPEATS_MAX),
            Some('?') => (0, 1),
            Some('{') => {
                let rest: String = self.pattern.iter().skip(self.at + 1).take_while(|next| **next != '}').collect();
                let (least, most) = rest.split_once(',').unwrap_or((&rest, &rest));
                let least: usize = least.parse().unwrap_or(0);
                self.at += rest.chars().count() + 1;
                (least, most.parse().unwrap_or(least + REPEATS_MAX).min(least + 60))
            }
            _ => return (1, 1),
        };
        self.at += 1;
        self.eat('?');
        bounds
    }

    fn atom(&mut self) -> String {
        match self.next() {
            None | Some('^' | '$') => String::new(),
            Some('(') => self.group(),
            Some('[') => self.class(),
            Some('.') => self.one_of(&['a', '0', ' ', '.', 'é']),
            Some('\\') => self.escape(),
            Some(literal) => literal.to_string(),
        }
    }

    fn group(&mut self) -> String {
        let mut ahead = false;
        if self.eat('?') {
            match self.next() {
                Some('=' | '!') => ahead = true,
                Some('<') => {
                    ahead = matches!(self.peek(), Some('=' | '!'));
                    while !ahead && self.next().is_some_and(|next| next != '>') {}
                }
                _ => {}
            }
        }
        let text = self.union();
        self.eat(')');
        if ahead { String::new() } else { text }
    }

    fn escape(&mut self) -> String {
        match self.next() {
            Some('d') => self.one_of(&['0', '7', '9']),
            Some('w') => self.one_of(&['a', 'Z', '_', '5']),
            Some('s') => self.one_of(&[' ', '\t']),
            Some('S' | 'D') => self.one_of(&['x', '!']),
            Some('W') => self.one_of(&['-', ' ']),
            Some('n') => "\n".to_owned(),
            Some('t') => "\t".to_owned(),
            Some('b' | 'B') | None => String::new(),
            Some('p') => {
                while self.next().is_some_and(|next| next != '}') {}
                self.one_of(&['A', 'é', 'b'])
            }
            Some('u') => {
                let code: String = self.pattern.iter().skip(self.at).take(4).collect();
                self.at += 4;
                u32::from_str_radix(&code, 16).ok().and_then(char::from_u32).map(String::from).unwrap_or_default()
            }
            Some(literal) => literal.to_string(),
        }
    }

    fn class(&mut self) -> String {
        let negated = self.eat('^');
        let mut chars: Vec<char> = Vec::new();
        while let Some(next) = self.next() {
            if next == ']' {
                break;
            }
            let first = if next == '\\' { self.escape().chars().next().unwrap_or('a') } else { next };
            chars.push(first);
            if self.peek() == Some('-') && self.pattern.get(self.at + 1).is_some_and(|end| *end != ']') {
                self.at += 1;
                if let Some(end) = self.next() {
                    let (low, high) = (u32::from(first), u32::from(end));
                    chars.extend(char::from_u32(low + high.saturating_sub(low) / 2));
                    chars.push(end);
                }
            }
        }
        if negated {
            let others: Vec<char> = ['a', 'Z', '0', ' ', '_', '-', 'é'].into_iter().filter(|other| !chars.contains(other)).collect();
            return self.one_of(&others);
        }
        self.one_of(&chars)
    }

    fn one_of(&mut self, chars: &[char]) -> String {
        self.dice.pick(chars).map(char::to_string).unwrap_or_default()
    }
}
