# From `git log --numstat --format='%x1e%aN'` to the files that changed most, and who changed what is in each folder.
# -v limit=N: entries of each list.

function folder(path,    slash) {
  slash = index(path, "/")
  return slash ? substr(path, 1, slash - 1) : "."
}

/^\036/ { commit++; author = inside(substr($0, 2)); next }

NF {
  # added, deleted (both `-` for a binary file), name; a name may hold blanks.
  split($0, field, "\t")
  path = name(substr($0, length(field[1]) + length(field[2]) + 3))
  changes[path]++
  added[path] += field[1]
  deleted[path] += field[2]
  place = folder(path)
  if ((place, commit) in seen) next
  seen[place, commit] = 1
  commits[place]++
  by[place, author]++
}

END {
  printf "{\"churn\":["
  for (row = 1; row <= limit && take(changes); row++) {
    printf "%s{\"file\":\"%s\",\"commits\":%d,\"added\":%.0f,\"deleted\":%.0f}", comma, top, top_count, added[top], deleted[top]
    comma = ",\n"
  }
  printf "],\n\"authors\":["
  comma = ""
  for (row = 1; row <= limit && take(commits); row++) {
    printf "%s{\"folder\":\"%s\",\"commits\":%d,\"authors\":[", comma, top, top_count
    authors_of(top)
    printf "]}"
    comma = ",\n"
  }
  print "]}"
}

function authors_of(place,    key, part, count, row, comma) {
  for (key in by) {
    split(key, part, SUBSEP)
    if (part[1] == place) count[part[2]] = by[key]
  }
  for (row = 1; row <= limit && take(count); row++) {
    printf "%s{\"author\":\"%s\",\"commits\":%d}", comma, top, top_count
    comma = ","
  }
}
