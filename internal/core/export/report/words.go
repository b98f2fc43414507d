package report

import (
	"strconv"
	"strings"
	"time"
)

// Title is a word with a capital.
func Title(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

// Thousands is a number with commas.
func Thousands(n int) string {
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
	return Thousands(n) + " " + what
}

func are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func words(status string) string { return strings.ReplaceAll(status, "_", " ") }

func when(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format("2 January 2006, 15:04 UTC")
}

func day(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format("2 January 2006")
}

// and joins words as a sentence does.
func and(all []string) string {
	switch len(all) {
	case 0:
		return ""
	case 1:
		return all[0]
	}
	return strings.Join(all[:len(all)-1], ", ") + " and " + all[len(all)-1]
}
