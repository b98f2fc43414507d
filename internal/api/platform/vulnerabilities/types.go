package vulnerabilities

import (
	"path"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/vulnerability"
)

// Result is what is known of a CVE.
type Result struct {
	CVEID            string              `json:"cve_id" doc:"The CVE; of an entry of OSV without one, its id there."`
	DocID            string              `json:"doc_id" doc:"The same as cve_id."`
	DocType          string              `json:"doc_type" enum:"cve,osv" doc:"cve, or osv for what has no CVE."`
	Name             string              `json:"name"`
	Description      string              `json:"description"`
	Impact           string              `json:"impact"`
	Remediation      string              `json:"remediation"`
	Severity         string              `json:"severity" enum:"info,low,medium,high,critical,unknown"`
	CVSSScore        *float64            `json:"cvss_score" doc:"The base score of CVSS; null: no source has one."`
	CVSSMetrics      string              `json:"cvss_metrics" doc:"The vector of CVSS."`
	EPSSScore        *float64            `json:"epss_score" doc:"How likely it is to be exploited within 30 days, 0 to 1; null: not known."`
	EPSSPercentile   *float64            `json:"epss_percentile" doc:"The part of all CVEs that is at most as likely, 0 to 1."`
	IsKEV            bool                `json:"is_kev" doc:"It is in the catalogue of known exploited vulnerabilities that the operator loaded."`
	KEV              []KEV               `json:"kev" doc:"Its entry there."`
	IsTemplate       bool                `json:"is_template" doc:"A template of this server tests for it."`
	Templates        []string            `json:"templates" doc:"The ids of the templates that do."`
	TemplateCoverage string              `json:"template_coverage" enum:"covered,not_covered" doc:"Whether a template tests for it, as a word."`
	IsPOC            bool                `json:"is_poc" doc:"A way to exploit it is public: a page says so, or a template tests for it."`
	POCCount         int                 `json:"poc_count" doc:"How many pages say so."`
	POCs             []Link              `json:"pocs" doc:"These pages."`
	IsPatchAvailable bool                `json:"is_patch_available" doc:"A page with a patch is known."`
	IsRemote         *bool               `json:"is_remote" doc:"It can be exploited over a network, by its vector; null: not known."`
	IsAuth           *bool               `json:"is_auth" doc:"Only somebody with privileges can exploit it, by its vector; null: not known."`
	VulnStatus       string              `json:"vuln_status" doc:"Its state at NVD, in lower case, such as analyzed or rejected."`
	Assignee         string              `json:"assignee" doc:"Who assigned the id."`
	CVECreatedAt     *time.Time          `json:"cve_created_at" doc:"When it was published; null: not known."`
	CVEUpdatedAt     *time.Time          `json:"cve_updated_at" doc:"When a source changed it last; null: not known."`
	AgeInDays        *int                `json:"age_in_days" doc:"Days since it was published; null: not known."`
	CWE              []string            `json:"cwe" doc:"Its kinds of weakness."`
	Weaknesses       []Weakness          `json:"weaknesses" doc:"The same, as objects."`
	Vendor           string              `json:"vendor" doc:"Who makes the first of affected_products."`
	Product          string              `json:"product" doc:"The first of affected_products."`
	AffectedProducts []Product           `json:"affected_products" doc:"What is affected, at most 50."`
	Citations        []Link              `json:"citations" doc:"Pages about it."`
	Sources          []string            `json:"sources" doc:"Which sources know it: nvd, osv, templates, kev, epss."`
	URI              string              `json:"uri" doc:"The path of the first template in the catalogue."`
	Filename         string              `json:"filename" doc:"The file of the first template."`
	Directory        string              `json:"directory" doc:"Its folder."`
	Type             string              `json:"type" doc:"The protocol of the first template."`
	Author           []string            `json:"author"`
	Tags             []string            `json:"tags"`
	TemplateCreated  *time.Time          `json:"template_created_at" doc:"When the first template came into the catalogue; null: there is none."`
	Raw              string              `json:"raw,omitempty" doc:"The text of the first template; only in GET /v2/vulnerability/{id}."`
	Highlight        map[string][]string `json:"highlight,omitempty" doc:"By field: HTML with <em> around what was looked for. Only when highlight was asked for."`
}

// TransformSchema implements huma.SchemaTransformer: a request may pick fields, so none is required.
func (Result) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Required = nil
	return s
}

// KEV is an entry in the catalogue of known exploited vulnerabilities.
type KEV struct {
	AddedDate    string `json:"added_date" doc:"Since this day it is known to be exploited."`
	DueDate      string `json:"due_date" doc:"By this day authorities are to have mended it; empty: none."`
	IsRansomware bool   `json:"known_ransomware_campaign_use" doc:"Ransomware is known to use it."`
	Source       string `json:"source" doc:"Whose catalogue it is."`
}

// Link is a page about a CVE.
type Link struct {
	URL    string   `json:"url"`
	Source string   `json:"source" doc:"Who names the page."`
	Tags   []string `json:"tags"`
}

// Weakness is a kind of weakness.
type Weakness struct {
	CWEID string `json:"cwe_id" doc:"The CWE."`
}

// Product is something that is affected.
type Product struct {
	Vendor  string   `json:"vendor" doc:"Who makes it; of a package its ecosystem."`
	Product string   `json:"product" doc:"Its name."`
	CPE     []string `json:"cpe" doc:"Some of its CPEs."`
}

func resultOf(v vulnerability.Vulnerability, now time.Time) Result {
	r := Result{
		CVEID: v.ID, DocID: v.ID, DocType: "cve", Name: v.Name, Description: v.Description, Impact: v.Impact,
		Remediation: v.Remediation, Severity: v.Severity, CVSSMetrics: v.Vector, KEV: []KEV{}, IsTemplate: v.Template != nil,
		Templates: rest.OrEmpty(v.Templates), TemplateCoverage: "not_covered",
		IsPOC: v.HasPOC(), POCs: linksOf(v.Tagged("exploit")),
		IsPatchAvailable: len(v.Tagged("patch")) > 0, IsRemote: v.IsRemote(), IsAuth: v.NeedsLogin(), VulnStatus: v.Status,
		Assignee: v.Assigner, CWE: rest.OrEmpty(v.CWE), Weaknesses: []Weakness{}, AffectedProducts: []Product{},
		Citations: linksOf(v.References), Sources: v.Sources, Author: []string{}, Tags: []string{},
		CVECreatedAt: rest.OrNull(v.Published), CVEUpdatedAt: rest.OrNull(v.Modified),
	}
	if !strings.HasPrefix(v.ID, "CVE-") {
		r.DocType = "osv"
	}
	r.POCCount = len(r.POCs)
	if v.Score > 0 {
		r.CVSSScore = &v.Score
	}
	if v.EPSS.Percentile > 0 {
		r.EPSSScore, r.EPSSPercentile = &v.EPSS.Score, &v.EPSS.Percentile
	}
	if e := v.Exploited; e != nil {
		r.IsKEV, r.KEV = true, []KEV{{e.Added, e.Due, e.IsRansomware, "cisa"}}
	}
	if !v.Published.IsZero() {
		r.AgeInDays = new(max(0, int(now.Sub(v.Published)/(24*time.Hour))))
	}
	for _, cwe := range v.CWE {
		r.Weaknesses = append(r.Weaknesses, Weakness{cwe})
	}
	for _, p := range v.Products {
		r.AffectedProducts = append(r.AffectedProducts, Product{p.Vendor, p.Product, rest.OrEmpty(p.CPE)})
	}
	if len(v.Products) > 0 {
		r.Vendor, r.Product = v.Products[0].Vendor, v.Products[0].Product
	}
	if t := v.Template; t != nil {
		r.TemplateCoverage, r.URI, r.Filename, r.Type = "covered", t.Path, path.Base(t.Path), t.Type
		if dir := path.Dir(t.Path); dir != "." {
			r.Directory = dir
		}
		r.Author, r.Tags, r.TemplateCreated = rest.OrEmpty(t.Author), rest.OrEmpty(t.Tags), &t.Created
	}
	return r
}

func linksOf(refs []vulnerability.Reference) []Link {
	return rest.Each(refs, func(r vulnerability.Reference) Link { return Link{r.URL, r.Source, rest.OrEmpty(r.Tags)} })
}
