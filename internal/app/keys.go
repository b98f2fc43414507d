package app

import (
	"os"

	"github.com/vedette-sec/vedette/internal/jobs"
)

// SourceKeys reads a file with the keys of sources of names, as a subfinder configuration
// has them; no file has none.
func SourceKeys(file string) (map[string][]string, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return jobs.ReadSources(text)
}
