// Package packages reads the reports of tools that look at dependencies, and advisories about them. A file is a format,
// or two of one tool.
package packages

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

// Formats are the formats of this package.
func Formats() []kit.Format {
	return []kit.Format{
		csaf(), cyclonedx(), cyclonedxXML(), dependencyCheck(), govulncheck(), grype(), npmAudit(), openvex(), osvScanner(),
		snyk(), trivy(),
	}
}

// identify parts the ids of a vulnerability into CVEs and others.
func identify(r *kit.Record, ids ...string) {
	r.CVEs = append(r.CVEs, kit.CVEs(ids...)...)
	for _, id := range ids {
		if id = strings.TrimSpace(id); id != "" && len(kit.CVEs(id)) == 0 {
			r.OtherIDs = append(r.OtherIDs, id)
		}
	}
}

// keep is a route that keeps the text of a value.
func keep(into *string) func(kit.Value) error {
	return func(v kit.Value) error {
		*into = v.String()
		return nil
	}
}
