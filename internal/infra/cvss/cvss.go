// Package cvss reads vectors of the Common Vulnerability Scoring System (FIRST, versions 3.0, 3.1 and 4.0) and says
// their scores and what the scores mean.
package cvss

import (
	"errors"
	"strings"

	gocvss30 "github.com/pandatix/go-cvss/30"
	gocvss31 "github.com/pandatix/go-cvss/31"
	gocvss40 "github.com/pandatix/go-cvss/40"
)

// MaxLength is more bytes than a vector with every metric has.
const MaxLength = 512

// Vector is a vector that was read.
type Vector struct {
	Version string  // 3.0, 3.1 or 4.0
	Base    float64 // 0 to 10: the weakness by itself; of version 4.0, the same as Score
	Score   float64 // 0 to 10: with all metrics that the vector has, those of threat and environment too
}

var errVersion = errors.New("it must begin with CVSS:3.0/, CVSS:3.1/ or CVSS:4.0/")

// Parse reads a vector with its version in front.
func Parse(text string) (Vector, error) {
	if len(text) > MaxLength {
		return Vector{}, errors.New("it is too long")
	}
	switch version, _, _ := strings.Cut(text, "/"); version {
	case "CVSS:3.0":
		v, err := gocvss30.ParseVector(text)
		if err != nil {
			return Vector{}, err
		}
		return Vector{"3.0", v.BaseScore(), v.EnvironmentalScore()}, nil
	case "CVSS:3.1":
		v, err := gocvss31.ParseVector(text)
		if err != nil {
			return Vector{}, err
		}
		return Vector{"3.1", v.BaseScore(), v.EnvironmentalScore()}, nil
	case "CVSS:4.0":
		v, err := gocvss40.ParseVector(text)
		if err != nil {
			return Vector{}, err
		}
		return Vector{"4.0", v.Score(), v.Score()}, nil
	}
	return Vector{}, errVersion
}

// Rating is what a score means, by the qualitative scale that all versions have: critical, high, medium, low or none.
func Rating(score float64) string {
	switch {
	case score >= 9:
		return "critical"
	case score >= 7:
		return "high"
	case score >= 4:
		return "medium"
	case score > 0:
		return "low"
	}
	return "none"
}
