// Package code reads the reports of tools that look at source code and for secrets. A file is a format, or two of one
// tool.
package code

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

// Formats are the formats of this package.
func Formats() []kit.Format {
	return []kit.Format{
		bandit(), brakeman(), gitleaks(), gosec(), hadolint(), sarif(), semgrep(), sonarqube(), sonarHTML(), trufflehog(),
		trufflehog3(),
	}
}

// file takes the scheme file:// off a place, and backslashes.
func file(uri string) string {
	if rest, ok := strings.CutPrefix(uri, "file://"); ok {
		uri = rest
	}
	return strings.ReplaceAll(uri, `\`, "/")
}
