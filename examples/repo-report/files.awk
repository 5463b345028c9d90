# From `git ls-tree -r -l` to a JSON array of the largest files. -v limit=N: how many.

BEGIN { FS = "\t" }

{
  # mode, type, object and size (`-` for a submodule), a tab, the name.
  split($1, field, " ")
  if (field[2] != "blob") next
  size[name(substr($0, length($1) + 2))] = field[4] + 0
}

END {
  printf "["
  for (row = 1; row <= limit && take(size); row++) {
    printf "%s{\"file\":\"%s\",\"bytes\":%.0f}", comma, top, top_count
    comma = ",\n"
  }
  print "]"
}
