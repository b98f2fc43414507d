package kit

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/cvss"
)

// BaseScore is the base score of a vector of CVSS 3, with or without its version in front; 0 for other vectors, and for
// those that are not complete.
func BaseScore(vector string) float64 {
	if !strings.HasPrefix(vector, "CVSS:") {
		vector = "CVSS:3.1/" + vector
	}
	v, err := cvss.Parse(vector)
	if err != nil || v.Version == "4.0" {
		return 0
	}
	return v.Base
}
