# From `git log --format='%h %aI%x1f%aN%x1f%s'` to a JSON array of commits.

BEGIN { FS = "\037"; printf "[" }

NF {
  split($1, head, " ")
  subject = substr($0, length($1) + length($2) + 3)
  printf "%s{\"hash\":\"%s\",\"date\":\"%s\",\"author\":\"%s\",\"subject\":\"%s\"}", comma, head[1], head[2], inside($2), inside(subject)
  comma = ",\n"
}

END { print "]" }
