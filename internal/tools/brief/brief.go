// Package brief shortens reasons for people and models.
package brief

import (
	"errors"
	"fmt"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// MaxReason bounds a reason in a message to people, in bytes.
const MaxReason = 200

// Reason is why a request failed, for the middle of a sentence.
func Reason(err error) string {
	text := err.Error()
	if denied, ok := errors.AsType[*netguard.Denied](err); ok {
		text = "it is not in scope: " + denied.Why
	}
	return strings.TrimRight(errs.Clip(text, MaxReason), ".")
}

const maxNamed = 5

// FirstFew is sentences, or the first of them and one that says how many more things did what.
func FirstFew(sentences []string, what string) []string {
	if len(sentences) <= maxNamed {
		return sentences
	}
	return append(sentences[:maxNamed:maxNamed], fmt.Sprintf("%d more %s.", len(sentences)-maxNamed, what))
}
