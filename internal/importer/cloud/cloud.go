// Package cloud reads the reports of tools that look at clusters and at the files that describe them. A file is a
// format.
package cloud

import "github.com/vedette-sec/vedette/internal/importer/kit"

// Formats are the formats of this package.
func Formats() []kit.Format {
	return []kit.Format{checkov(), kics(), kubeBench(), kubeHunter(), kubescape(), tfsec(), trivyOperator()}
}
