# Writes JSON texts with POSIX awk alone. The other programs of this folder load it first.

BEGIN {
  for (i = 1; i < 32; i++) escape[sprintf("%c", i)] = sprintf("\\u%04x", i)
  escape["\""] = "\\\""
  escape["\\"] = "\\\\"
  # What git writes after a backslash in a quoted file name.
  named["a"] = "\\u0007"; named["b"] = "\\b"; named["t"] = "\\t"; named["n"] = "\\n"
  named["v"] = "\\u000b"; named["f"] = "\\f"; named["r"] = "\\r"
  named["\""] = "\\\""; named["\\"] = "\\\\"
}

# A text as the inside of a JSON text, without the quotes.
function inside(text,    out, i, c) {
  if (text !~ /[\001-\037"\\]/) return text
  out = ""
  for (i = 1; i <= length(text); i++) {
    c = substr(text, i, 1)
    out = out ((c in escape) ? escape[c] : c)
  }
  return out
}

# A file name as git writes it (core.quotePath: plain ASCII, or quoted like a C text with bytes in octal) as the
# inside of a JSON text.
function name(text,    out, i, c) {
  if (substr(text, 1, 1) != "\"") return text
  out = ""
  for (i = 2; i < length(text); i++) {
    c = substr(text, i, 1)
    if (c != "\\") { out = out plain() c; continue }
    c = substr(text, ++i, 1)
    if (c in named) { out = out plain() named[c]; continue }
    out = out byte(substr(text, i, 1) * 64 + substr(text, i + 1, 1) * 8 + substr(text, i + 2, 1))
    i += 2
  }
  return out plain()
}

# One byte of a UTF-8 name: nothing until its character is whole, then the character as \u escapes. What is no UTF-8
# becomes U+FFFD.
function byte(b,    out) {
  if (missing > 0 && b >= low && b <= high) {
    character = character * 64 + b - 128
    low = 128; high = 191
    return (--missing == 0) ? unit(character) : ""
  }
  out = plain()
  low = 128; high = 191
  if (b < 128) return out unit(b)
  if (b >= 194 && b <= 223) { missing = 1; character = b - 192 }
  else if (b >= 224 && b <= 239) { missing = 2; character = b - 224; if (b == 224) low = 160; if (b == 237) high = 159 }
  else if (b >= 240 && b <= 244) { missing = 3; character = b - 240; if (b == 240) low = 144; if (b == 244) high = 143 }
  else return out "\\ufffd"
  return out
}

# The end of a run of bytes: a character that is not whole.
function plain() {
  if (missing == 0) return ""
  missing = 0
  return "\\ufffd"
}

# A character as JSON writes it in ASCII: above U+FFFF as two halves.
function unit(c) {
  if (c < 65536) return sprintf("\\u%04x", c)
  c -= 65536
  return sprintf("\\u%04x\\u%04x", 55296 + int(c / 1024), 56320 + c % 1024)
}

# Sets `top` to the key with the largest count, of equal ones the first in the order of their bytes, and takes it out.
# Answers whether there was one.
function take(count,    key, found) {
  found = 0
  for (key in count) {
    if (!found || count[key] > count[top] || (count[key] == count[top] && key < top)) top = key
    found = 1
  }
  if (found) { top_count = count[top]; delete count[top] }
  return found
}
