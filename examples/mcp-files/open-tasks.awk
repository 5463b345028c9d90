# From a Markdown note to its open tasks, each under the heading it stands below.

BEGIN { print "# Open tasks" }

/^#/ { heading = $0; sub(/^#+ */, "", heading); next }

/^ *[-*] \[ \] / {
  if (heading != shown) { print "\n## " heading "\n"; shown = heading }
  sub(/^ *[-*] \[ \] /, "- ")
  print
}

# A tool's text has no line break at its end. This one is for the file.
END { print "" }
