package export

import (
	"strconv"
	"strings"
)

func title(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// count is a number with a noun, in the plural unless it is 1.
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

// atLeast is the number of names in a tally.
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
