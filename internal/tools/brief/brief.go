// Package brief shortens texts for people and models.
package brief

import (
	"errors"
	"strings"

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
	return strings.TrimRight(Clip(text, MaxReason), ".")
}

// Clip is the beginning of a text, at most so many bytes.
func Clip(s string, most int) string {
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
