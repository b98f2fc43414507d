// Package strength refuses passwords that are easy to guess: too short, among the most common ones, or made of what is
// known of the account.
//
// A password is compared without regard to case, and also with the letters that figures and signs commonly stand for
// (p4ssw0rd). It is refused when it is a word of the list, such a word with up to six figures and signs around it, or a
// short piece that is repeated. What is known of the account (the name in its e-mail address, this product's name) is
// taken out first, and the rest has to be a password by itself.
package strength

import (
	_ "embed"
	"sort"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

const (
	least = 10   // bytes of a password
	most  = 1024 // bytes

	around     = 6 // figures and signs around a common word
	leastKnown = 3 // bytes of a word that is known of the account; shorter ones are in too many others
	leastRest  = 6 // bytes of a password without what is known
	leastKinds = 5 // different bytes of a password
)

// words are common passwords of four bytes and more, one a line, in lower case and sorted. They are from the package
// @zxcvbn-ts/language-common 4.1.3, whose licence is beside them.
//
//go:embed words.txt
var words string

// plain are the letters that figures and signs stand for.
var plain = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s",
	"!", "i")

// Check fails with Invalid for the field when a password is shorter or longer than allowed, or easy to guess by who
// knows the address of its user, which may be empty.
func Check(field, password, email string) error {
	if len(password) < least || len(password) > most {
		return errs.Field(field, "%s must have %d to %d bytes.", field, least, most)
	}
	lower := strings.ToLower(password)
	if isCommon(lower) || isCommon(plain.Replace(lower)) {
		return errs.Field(field, "%s is one of the most common passwords, or close to one. Choose another.", field)
	}
	name, domain, _ := strings.Cut(strings.ToLower(email), "@")
	domain, _, _ = strings.Cut(domain, ".")
	rest := lower
	for _, known := range append(strings.FieldsFunc(name, isSign), name, domain, "vedette") {
		if len(known) >= leastKnown {
			rest = strings.ReplaceAll(rest, known, "")
		}
	}
	if len(rest) < len(lower) && (len(strings.TrimFunc(rest, isSign)) < leastRest || isCommon(rest)) {
		return errs.Field(field, "%s must not consist of the e-mail address or the name of this product. Choose another.", field)
	}
	return nil
}

// isCommon reports whether a text in lower case is a common password, or close to one.
func isCommon(text string) bool {
	core := strings.TrimFunc(text, func(r rune) bool { return r < 'a' || r > 'z' })
	return isWord(text) || len(text)-len(core) <= around && isWord(core) || isRepeated(text)
}

// isSign reports whether a character is no letter and no figure of ASCII.
func isSign(r rune) bool {
	return r < 0x80 && (r < '0' || r > '9') && (r < 'a' || r > 'z')
}

// isWord looks a word up in the list.
func isWord(word string) bool {
	if word == "" {
		return false
	}
	from := sort.Search(len(words), func(i int) bool { return lineAt(i) >= word })
	return from < len(words) && lineAt(from) == word
}

// lineAt is the first line of the list that begins at a place or behind it; behind the last one, a text that is greater
// than all.
func lineAt(i int) string {
	if i > 0 {
		next := strings.IndexByte(words[i-1:], '\n')
		i += next
	}
	line, _, found := strings.Cut(words[i:], "\n")
	if !found {
		return "\x7f"
	}
	return line
}

// isRepeated reports whether a text has few different bytes, or is a piece that is repeated, whole or not.
func isRepeated(text string) bool {
	var seen [256]bool
	kinds := 0
	for i := range len(text) {
		if !seen[text[i]] {
			seen[text[i]] = true
			kinds++
		}
	}
	if kinds < leastKinds {
		return true
	}
	for size := 1; size <= len(text)/2 && size < least; size++ {
		if text[size:] == text[:len(text)-size] {
			return true
		}
	}
	return false
}
