// Package label has the rules about the labels of assets: what a label may be, how new labels
// change the present ones, and which labels are guessed.
package label

import (
	"slices"
	"strings"
	"unicode"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Mode is how new labels change the present ones.
type Mode string

// The modes.
const (
	Append  Mode = "append"
	Replace Mode = "replace"
	Delete  Mode = "delete"
)

// Max is how many labels an asset has at most.
const Max = 100

const maxCharacters = 64

// Apply changes the labels of an asset.
func (m Mode) Apply(old, labels []string) (out []string) {
	switch m {
	case Append:
		out = slices.Concat(old, labels)
	case Replace:
		out = labels
	case Delete:
		out = slices.DeleteFunc(slices.Clone(old), func(l string) bool { return slices.Contains(labels, l) })
	}
	return out[:min(len(out), Max)]
}

// Check trims labels, or refuses them.
func Check(labels []string) ([]string, error) {
	if len(labels) > Max {
		return nil, errs.Field("labels", "labels must have at most %d labels.", Max)
	}
	out := make([]string, len(labels))
	for i, label := range labels {
		label = strings.TrimSpace(db.Clean(label))
		if label == "" || len([]rune(label)) > maxCharacters || strings.Contains(label, ",") ||
			strings.ContainsFunc(label, unicode.IsControl) {
			return nil, errs.Field("labels", "labels: %.70q is no label: one has 1 to %d characters, and no commas.", label,
				maxCharacters)
		}
		out[i] = label
	}
	return out, nil
}
