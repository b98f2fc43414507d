package listing

import (
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// Join makes a column of words: sorted, each once, without commas inside.
func Join(words []string) string {
	clean := make([]string, 0, len(words))
	for _, w := range words {
		if w = strings.TrimSpace(strings.ReplaceAll(db.Clean(w), ",", " ")); w != "" {
			clean = append(clean, w)
		}
	}
	slices.Sort(clean)
	return strings.Join(slices.Compact(clean), ",")
}
