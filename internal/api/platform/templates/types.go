package templates

import (
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/catalog"
)

// TemplateClassification places a template in public catalogues of weaknesses
// (specification, Template fields).
type TemplateClassification struct {
	CVEID          []string `json:"cve-id"`
	CWEID          []string `json:"cwe-id"`
	CVSSMetrics    string   `json:"cvss-metrics"`
	CVSSScore      float64  `json:"cvss-score"`
	EPSSScore      float64  `json:"epss-score"`
	EPSSPercentile float64  `json:"epss-percentile"`
	CPE            string   `json:"cpe" doc:"The CPE of what is tested."`
}

// AIMeta says who wrote a template.
type AIMeta struct {
	ModelUsed         string `json:"model_used" doc:"The model that wrote it; empty when none did."`
	IsPromptByHuman   bool   `json:"is_prompt_by_human" doc:"A person asked for it in words."`
	IsTemplateByHuman bool   `json:"is_template_by_human" doc:"A person wrote it, or has changed what a model wrote."`
	Prompt            string `json:"prompt"`
}

// TemplateData is a template (specification, Template fields).
type TemplateData struct {
	URI            string                 `json:"uri" doc:"Its path in the catalogue; of a team's own its unique id."`
	ID             string                 `json:"id" doc:"The id that is written in it."`
	Name           string                 `json:"name"`
	Author         []string               `json:"author"`
	Tags           []string               `json:"tags"`
	Severity       string                 `json:"severity" enum:"info,low,medium,high,critical,unknown"`
	Type           string                 `json:"type" doc:"Its protocol, or workflow."`
	Dir            string                 `json:"dir"`
	Ref            string                 `json:"ref" doc:"The release that it is in now."`
	Vendor         string                 `json:"vendor" doc:"Who makes what it tests."`
	Product        string                 `json:"product" doc:"What it tests."`
	Classification TemplateClassification `json:"classification" doc:"Its place in public catalogues of weaknesses."`
	Metadata       map[string]any         `json:"metadata" doc:"Its author's metadata."`
	Digest         string                 `json:"digest" doc:"The sha256 of its text, hex."`
	CreatedAt      time.Time              `json:"created_at" doc:"When it came into the catalogue."`
	UpdatedAt      time.Time              `json:"updated_at"`
	ReleaseTag     string                 `json:"release_tag" doc:"The release that brought it first."`
	IsEarly        bool                   `json:"is_early" doc:"It is of the early set."`
	Raw            string                 `json:"raw" doc:"Its text."`
	TemplateID     string                 `json:"template_id" doc:"Its unique id: the written one of a public template, a generated one of a team's; of a shared one its link."`
	Description    string                 `json:"description"`
	Filename       string                 `json:"filename" doc:"Its file's name."`
	Impact         string                 `json:"impact"`
	AIMeta         AIMeta                 `json:"ai_meta" doc:"Who wrote it."`
	References     []string               `json:"references" doc:"Links to more about it."`
	TemplateType   string                 `json:"template_type" enum:"public,user,shared" doc:"Who owns it: public, your team, or a team that shares it."`
	IsDraft        bool                   `json:"is_draft" doc:"A model wrote it, and no person has changed it since."`
	IsGitHub       bool                   `json:"is_github" doc:"It came from GitHub."`
	IsNew          bool                   `json:"is_new"`
	IsSvcTeam      bool                   `json:"is_svcteam" doc:"It comes from the service operator's own team."`
	IsPDTeam       bool                   `json:"is_pdteam" doc:"The older name of is_svcteam."`
	Remediation    string                 `json:"remediation"`
}

// TransformSchema implements huma.SchemaTransformer: a request may pick fields, so none is required.
func (TemplateData) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Required = nil
	return s
}

// SharedTemplateData is a template under a link.
type SharedTemplateData struct {
	TemplateData
	TTL           string   `json:"ttl" doc:"How long the link was made for, such as 1d or 1m (a month); empty: for ever."`
	ShareType     string   `json:"share_type" enum:"unlisted,organization,users"`
	UsersEmail    []string `json:"users_email"`
	Organizations []string `json:"organizations"`
}

// FoundTemplate is a template that a search found.
type FoundTemplate struct {
	TemplateData
	Highlight map[string][]string `json:"highlight,omitempty" doc:"By field: HTML with <em> around what was looked for. Only when highlight was asked for."`
}

func templateOf(t catalog.Template) TemplateData {
	out := TemplateData{
		URI: t.Path, ID: t.WrittenID, Name: t.Info.Name, Author: rest.OrEmpty(t.Info.Author),
		Tags: rest.OrEmpty(t.Info.Tags), Severity: string(t.Info.Severity), Type: t.Type, Dir: t.Dir(),
		Ref: t.Ref, Vendor: catalog.Vendor(t.Info), Product: catalog.Product(t.Info),
		Classification: TemplateClassification{CVEID: []string{}, CWEID: []string{}},
		Metadata:       rest.OrEmptyMap(t.Info.Metadata), Digest: t.Digest, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt,
		ReleaseTag: t.ReleaseTag, IsEarly: t.Scope == catalog.EarlySet,
		Raw: string(t.Raw), TemplateID: t.ID, Description: t.Info.Description, Filename: path.Base(t.Path),
		Impact: t.Info.Impact,
		AIMeta: AIMeta{
			ModelUsed: t.Model, IsPromptByHuman: t.Prompt != "", IsTemplateByHuman: !t.IsDraft(), Prompt: t.Prompt,
		},
		IsDraft:    t.IsDraft(),
		References: rest.OrEmpty(t.Info.Reference), TemplateType: "public", IsGitHub: fromGitHub(t.Source), IsNew: t.IsNew,
		IsSvcTeam: t.Scope == catalog.StarterSet, Remediation: t.Info.Remediation,
	}
	out.IsPDTeam = out.IsSvcTeam
	if c := t.Info.Classification; c != nil {
		out.Classification = TemplateClassification{rest.OrEmpty(c.CVEID), rest.OrEmpty(c.CWEID), c.CVSSMetrics, c.CVSSScore,
			c.EPSSScore, c.EPSSPercentile, c.CPE}
	}
	if t.IsOwn() {
		out.URI, out.TemplateType = t.ID, "user"
	}
	return out
}

func sharedOf(s catalog.Share, t catalog.Template) SharedTemplateData {
	out := SharedTemplateData{templateOf(t), s.TTL, string(s.Type), rest.OrEmpty(s.Emails), rest.OrEmpty(s.Organizations)}
	out.URI, out.TemplateID, out.TemplateType = s.ID, s.ID, "shared"
	return out
}

func fromGitHub(source string) bool {
	u, err := url.Parse(source)
	return err == nil && (u.Hostname() == "github.com" || strings.HasSuffix(u.Hostname(), ".github.com"))
}

// Fields is the query parameter by which a request picks fields of templates.
type Fields struct {
	Fields string `query:"fields" maxLength:"1000" doc:"Fields of a template to answer, separated by commas, such as id,name,severity; all without it."`
}

// pick parses the requested fields of a type; raw is whether the text is among them.
func pick[T any](f string) (fields []string, raw bool, err error) {
	fields, err = wire.Pick[T]("a template", f)
	return fields, len(fields) == 0 || slices.Contains(fields, "raw"), err
}
