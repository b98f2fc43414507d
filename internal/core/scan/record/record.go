// Package record makes sightings of what other tools report: an event that lists and exports show, and the parts that
// identify the weakness (package core/finding/identity). What is at a place in a network is identified as our own scans
// are; a package, a line of code, a secret or a resource of a cluster has a subject of its own kind.
package record

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/identity"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/importer"
	"github.com/vedette-sec/vedette/internal/importer/kit"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Sighting is the record of another tool as a sighting. What nuclei saw has the identity that our own scans give it;
// what other tools saw has the tool's name before its check.
func Sighting(r importer.Record) finding.Sighting {
	check := r.Check
	if r.Tool != "nuclei" {
		check = r.Tool + ":" + r.Check
	}
	e := engine.Event{
		TemplateID: errs.Clip(check, maxCheck), MatcherName: r.Matcher, MatcherStatus: true, Type: "import",
		Host: cmp.Or(r.Place.Host, r.Place.IP), IP: r.Place.IP, MatchedAt: placeOf(r.Place), Path: r.Place.Path,
		Request: r.Evidence.Request, Response: r.Evidence.Response, Timestamp: r.SeenAt.UTC(),
		Info: syntax.Info{
			Name: r.Title, Severity: syntax.Severity(r.Severity), Description: r.Description, Impact: r.Impact,
			Remediation: r.Remediation, Reference: r.References,
			Tags:     slices.Concat(r.Tags, []string{r.Tool, string(r.Class)}),
			Metadata: metadataOf(r), Classification: classificationOf(r),
		},
	}
	switch {
	case r.Place.URL != "":
		e.Type = "http"
	case r.Place.Port > 0:
		e.Type = "tcp"
	case r.Place.File != "":
		e.Type = "file"
	}
	if r.SeenAt.IsZero() {
		e.Timestamp = r.SeenAt
	}
	if r.Place.Port > 0 {
		e.Port = strconv.Itoa(r.Place.Port)
	}
	if r.Evidence.Matched != "" {
		e.ExtractedResults = []string{r.Evidence.Matched}
	}
	if r.Place.StartLine > 0 {
		e.MatchedLine = []int{r.Place.StartLine}
	}
	parts := partsOf(r, e)
	return finding.Sighting{Event: e, Target: cmp.Or(e.Host, e.MatchedAt), Parts: &parts, Status: statusOf(r.Status)}
}

// maxCheck bounds a template's id, in bytes.
const maxCheck = 256

// positions are the inputs of a request in the words of fuzzing rules.
var positions = map[string]string{"query": "query", "form": "body", "json": "body", "header": "header",
	"cookie": "cookie",
	"path":   "path"}

// partsOf is what identifies a record: its check, and its place in a network, or else its subject.
func partsOf(r importer.Record, e engine.Event) identity.Parts {
	p := identity.Of(e, r.Place.Scheme)
	p.Detail = r.Detail
	if p.Host == "" || r.Place.Host == "" && r.Place.IP == "" {
		p = identity.Parts{
			Check: p.Check, Matcher: p.Matcher, CVEs: p.CVEs, CWEs: p.CWEs, Subject: subjectOf(r), Detail: p.Detail,
		}
		return p
	}
	if r.Place.Protocol != "" && r.Place.Protocol != "tcp" && p.Scheme == "" {
		p.Scheme = r.Place.Protocol
	}
	if r.Place.Parameter.Name != "" {
		p.Position, p.Parameter = cmp.Or(positions[r.Place.Parameter.In], "query"), r.Place.Parameter.Name
	}
	return p
}

// subjectOf names what has no place in a network. Versions, tags of images and lines are not in it: they change while
// the weakness stays.
func subjectOf(r importer.Record) string {
	at := r.Place
	switch {
	case at.Package.Name != "" || at.Package.PURL != "":
		purl, _, _ := strings.Cut(at.Package.PURL, "?")
		purl, _, _ = strings.Cut(purl, "@")
		return cmp.Or(purl, at.Package.Ecosystem+"/"+at.Package.Name) + " in " +
			cmp.Or(repositoryOf(at.Package.Image), at.Package.Manifest, at.File, at.Component)
	case at.File != "":
		return at.Repository + "/" + strings.TrimPrefix(at.File, "./") + " " + contentOf(r)
	case at.Resource.Name != "":
		return at.Resource.Kind + " " + at.Resource.Namespace + "/" + at.Resource.Name
	}
	return cmp.Or(at.Component, at.Symbol, at.URL, r.Title)
}

// repositoryOf is the name of an image without tag and digest.
func repositoryOf(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndexByte(image, ':'); colon > strings.LastIndexByte(image, '/') {
		image = image[:colon]
	}
	return image
}

// contentOf tells weaknesses of one check in one file apart: by the code or the secret without white space, else by
// where it is.
func contentOf(r importer.Record) string {
	text := strings.Join(strings.Fields(cmp.Or(r.Evidence.Matched, r.Place.Snippet)), "")
	if text == "" {
		return cmp.Or(r.Place.Symbol, strconv.Itoa(r.Place.StartLine))
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// placeOf is a place for people.
func placeOf(at kit.Place) string {
	host := cmp.Or(at.Host, at.IP)
	switch {
	case at.URL != "":
		return at.URL
	case host != "" && at.Port > 0:
		return net.JoinHostPort(host, strconv.Itoa(at.Port))
	case host != "":
		return host
	case at.Package.Name != "":
		where := cmp.Or(at.Package.Image, at.Package.Manifest, at.File, at.Component)
		return strings.TrimSpace(at.Package.Name + " " + at.Package.Version + " " + where)
	case at.File != "" && at.StartLine > 0:
		return at.File + ":" + strconv.Itoa(at.StartLine)
	case at.File != "":
		return at.File
	case at.Resource.Name != "":
		return strings.Trim(at.Resource.Kind+" "+strings.Trim(at.Resource.Namespace+"/"+at.Resource.Name, "/"), " ")
	}
	return cmp.Or(at.Component, at.Symbol)
}

func classificationOf(r importer.Record) *syntax.Classification {
	c := syntax.Classification{}
	for _, cve := range r.CVEs {
		c.CVEID = append(c.CVEID, strings.ToLower(cve))
	}
	for _, cwe := range r.CWEs {
		c.CWEID = append(c.CWEID, fmt.Sprintf("cwe-%d", cwe))
	}
	if len(r.CVSS) > 0 {
		c.CVSSMetrics, c.CVSSScore = r.CVSS[0].Vector, r.CVSS[0].Score
	}
	if len(c.CVEID)+len(c.CWEID) == 0 && len(r.CVSS) == 0 {
		return nil
	}
	return &c
}

// metadataOf is what else the tool says.
func metadataOf(r importer.Record) map[string]any {
	out := map[string]any{"tool": r.Tool}
	for name, value := range map[string]string{
		"tool_version": r.ToolVersion, "tool_severity": r.ToolSeverity, "confidence": r.Confidence, "reference": r.Reference,
		"repository": r.Place.Repository, "snippet": r.Place.Snippet, "symbol": r.Place.Symbol, "service": r.Place.Service,
		"package": r.Place.Package.Name, "version": r.Place.Package.Version, "fixed_in": r.Place.Package.FixedIn,
		"purl": r.Place.Package.PURL, "image": r.Place.Package.Image, "manifest": r.Place.Package.Manifest,
		"parameter": r.Place.Parameter.Name, "parameter_in": r.Place.Parameter.In, "method": r.Place.Method,
		"other_ids": strings.Join(r.OtherIDs, ", "), "status": r.StatusText,
	} {
		if value != "" {
			out[name] = value
		}
	}
	return out
}

// statusOf is what a tool says as a status of ours.
func statusOf(s kit.Status) finding.Status {
	switch s {
	case kit.Fixed:
		return finding.Fixed
	case kit.FalsePositive, kit.NotAffected:
		return finding.FalsePositive
	case kit.AcceptedRisk:
		return finding.AcceptedRisk
	default:
		return ""
	}
}
