# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Writes each command block of a document to out/LINE and prints "LINE KIND ARGUMENT" for it.
# What is a command block: see tests/docs/run. With clone=1: the first steps only, else all others.

function wanted()
{
	if (kind == "sh")
		return (argument == "clone") == (clone + 0)
	return !clone && (kind == "console" || (kind == "yaml" && argument != ""))
}

function finish()
{
	if (kind == "literal") { # of a manual page: only what begins with a prompt is a command
		if (block !~ /^([a-z]+[0-9]+)?[#$] /)
			kind = ""
		else
			kind = "console"
	}
	if (wanted()) {
		printf "%s", block >(out "/" at)
		close(out "/" at)
		print at, kind, argument
	}
	inside = 0
}

function begin(what, word)
{
	inside = 1
	kind = what
	argument = word
	block = ""
	at = FNR
}

BEGIN { manual = ARGV[1] ~ /\.[1-8]$/ }

# Markdown
!manual && /^```/ {
	if (inside) {
		finish()
		next
	}
	if (NF < 1 || $0 ~ /^```[ \t]*$/) {
		print FNR ": a fence must say what is in it"
		exit 1
	}
	sub(/^```[ \t]*/, "")
	begin($1, $2)
	next
}

# mdoc
manual && /^\.Sh / { examples = /EXAMPLES/ }
manual && examples && /^\.Bd -literal/ { begin("literal", ""); next }
manual && inside && /^\.Ed/ { finish(); next }
manual && inside {
	gsub(/\\&/, "")
	gsub(/\\-/, "-")
	gsub(/\\\(aq/, "'")
	gsub(/\\\(dq/, "\"")
	gsub(/\\e/, "\\")
}

inside { block = block $0 "\n" }

END {
	if (inside) {
		print at ": a block without an end"
		exit 1
	}
}
