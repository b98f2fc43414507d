package export

import (
	"strconv"
	"strings"
)

// title is a word with a capital.
func title(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

// thousands is a number with commas.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// count is so many of something.
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return thousands(n) + " " + what
}

func are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// atLeast is how many names a tally has.
func atLeast(n int) string {
	if n >= maxDistinct {
		return "more than " + thousands(maxDistinct)
	}
	return thousands(n)
}

func hosts(n int) string {
	if n == 1 {
		return "1 host"
	}
	return atLeast(n) + " hosts"
}
