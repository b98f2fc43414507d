package review

import (
	"context"
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/core/review/rule"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/notify/forge"
)

// Config is how a repository is reviewed; nil is the default.
type Config struct {
	AutoReview     *bool     `json:"auto_review,omitempty" doc:"Review pull requests when they are opened, pushed to, reopened or made ready. Otherwise on command only."`
	AuthorInclude  *[]string `json:"author_include,omitempty" maxItems:"100" doc:"Of themselves, only pull requests by these logins are reviewed; all when empty."`
	AuthorExclude  *[]string `json:"author_exclude,omitempty" maxItems:"100" doc:"None by these."`
	BranchInclude  *[]string `json:"branch_include,omitempty" maxItems:"100" doc:"Only those into branches that match one of these patterns: * is anything but a slash, ** anything."`
	BranchExclude  *[]string `json:"branch_exclude,omitempty" maxItems:"100" doc:"None into these."`
	KeywordInclude *[]string `json:"keyword_include,omitempty" maxItems:"100" doc:"Only those with one of these words in their title."`
	KeywordExclude *[]string `json:"keyword_exclude,omitempty" maxItems:"100" doc:"None with one of these."`
	LabelInclude   *[]string `json:"label_include,omitempty" maxItems:"100" doc:"Only those with one of these labels."`
	LabelExclude   *[]string `json:"label_exclude,omitempty" maxItems:"100" doc:"None with one of these."`
	Exclude        *[]string `json:"exclude_patterns,omitempty" maxItems:"100" doc:"Files that are not read, such as vendor/**."`
	MaxComments    *int      `json:"max_inline_comments,omitempty" minimum:"0" maximum:"1000" doc:"Comments on lines, at most, of a review."`
	Summary        *bool     `json:"high_level_summary,omitempty" doc:"The summary says what was read, too."`
	Suggest        *bool     `json:"suggested_changes_enabled,omitempty" doc:"Comments suggest a change where a rule knows one."`
	Draft          *string   `json:"draft_policy,omitempty" enum:"skip,review" doc:"What happens to drafts."`
	Focus          *string   `json:"focus,omitempty" enum:"all,secrets,misconfiguration,code" doc:"What is looked for. code: by a model alone."`
	Tone           *string   `json:"tone,omitempty" enum:"detailed,concise" doc:"detailed: comments say why, too."`
	Severity       *string   `json:"severity_threshold,omitempty" enum:"critical,high,medium,low,info" doc:"The least severity of a finding."`
	Output         *string   `json:"review_output_mode,omitempty" enum:"comments,summary,check" doc:"check: the check run alone. summary: and the summary. comments: and comments on lines."`
	Gate           *string   `json:"check_gate,omitempty" enum:"off,critical,high,medium,low,info" doc:"The check run fails when there is a finding of this severity or a worse one."`

	Model        *bool               `json:"model_review,omitempty" doc:"The team's language model reads the change, too, if there is one. Its calls are paid as those of tasks are."`
	Instructions *string             `json:"custom_instructions,omitempty" maxLength:"10000" doc:"What the model must heed."`
	Paths        *[]PathInstructions `json:"path_instructions,omitempty" maxItems:"100" doc:"What the model must heed in some files."`

	// What needs somebody who watches is kept and has no effect (Unused).
	Stream     *bool `json:"streaming_enabled,omitempty" doc:"Show the review while it is written. No effect yet."`
	DeployWait *int  `json:"deploy_wait_timeout,omitempty" minimum:"0" maximum:"86400" doc:"Seconds to wait for a deployment. No effect yet."`
}

// PathInstructions are instructions for the files that match a pattern.
type PathInstructions struct {
	Path         string `json:"path" minLength:"1" maxLength:"500" doc:"A pattern of paths."`
	Instructions string `json:"instructions" maxLength:"10000" doc:"What a review of these files must heed."`
}

// Unused are the options that change sets and no review of the repository heeds.
func (rs *Reviews) Unused(ctx context.Context, r Repository, change Config) (names []string) {
	set, needModel := change.fields(), []string{"custom_instructions", "path_instructions"}
	for _, name := range append(needModel, "streaming_enabled", "deploy_wait_timeout") {
		if set[name] != nil && (!slices.Contains(needModel, name) || !rs.hasModel(ctx, r)) {
			names = append(names, name)
		}
	}
	return names
}

// hasModel reports whether a model reads the changes of a repository.
func (rs *Reviews) hasModel(ctx context.Context, r Repository) bool {
	if rs.Models == nil || !r.Effective().asksModel() {
		return false
	}
	_, err := rs.Models.Resolve(ctx, r.TeamID, "", model.Auto)
	return err == nil
}

// asksModel reports whether effective options let a model read changes.
func (c Config) asksModel() bool {
	return *c.Model && (*c.Focus == FocusAll || *c.Focus == string(rule.Code))
}

// The values of the options that have a few.
const (
	DraftSkip      = "skip"
	DraftReview    = "review"
	FocusAll       = "all"
	ToneDetailed   = "detailed"
	ToneConcise    = "concise"
	OutputComments = "comments"
	OutputSummary  = "summary"
	OutputCheck    = "check"
	GateOff        = "off"
)

var defaults = Config{
	AutoReview: new(true), AuthorInclude: new([]string{}), AuthorExclude: new([]string{}), BranchInclude: new([]string{}),
	BranchExclude: new([]string{}), KeywordInclude: new([]string{}), KeywordExclude: new([]string{}),
	LabelInclude: new([]string{}), LabelExclude: new([]string{}), Exclude: new([]string{}), MaxComments: new(50),
	Summary: new(true), Suggest: new(true), Draft: new(DraftSkip), Focus: new(FocusAll), Tone: new(ToneDetailed),
	Severity: new(string(rule.Low)), Output: new(OutputComments), Gate: new(GateOff),
	Model: new(true), Instructions: new(""), Paths: new([]PathInstructions{}), Stream: new(false), DeployWait: new(0),
}

// fields are the members of a configuration by name.
func (c Config) fields() map[string]json.RawMessage {
	text, err := json.Marshal(c)
	out := map[string]json.RawMessage{}
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic(err) // a Config is JSON
	}
	return out
}

func configOf(fields map[string]json.RawMessage) (c Config, err error) {
	text, err := json.Marshal(fields)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	return c, err
}

// with is c with what change sets.
func (c Config) with(change Config, reset []string) (Config, error) {
	fields, known := c.fields(), defaults.fields()
	for _, name := range reset {
		if known[name] == nil {
			return c, errs.Field("reset_fields", "reset_fields names %q, which is none of %s.", errs.Clip(name, 64),
				strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		if change.fields()[name] != nil {
			return c, errs.Field("reset_fields", "reset_fields and the request both name %s.", name)
		}
		delete(fields, name)
	}
	maps.Copy(fields, change.fields())
	return configOf(fields)
}

// over is c, with what base has for what is not set.
func (c Config) over(base Config) Config {
	out, _ := base.with(c, nil) // fails for no Config
	return out
}

// Effective is c with the defaults for what is not set.
func (c Config) Effective() Config { return c.over(defaults) }

// Effective are the repository's options as they hold: its own, else the team's, else the defaults.
func (r Repository) Effective() Config { return r.Config.over(r.Team).Effective() }

// Value is an option as it holds, and where it comes from.
type Value struct {
	Source string `json:"source" enum:"repo,team,default" doc:"repo: it was set for the repository. team: for all of the team's. default: for none."`
	Value  any    `json:"value" doc:"The option's value."`
}

// Values are all options by name.
func (r Repository) Values() map[string]Value {
	out, own, team := map[string]Value{}, r.Config.fields(), r.Team.fields()
	for name, value := range r.Effective().fields() {
		source := "default"
		switch {
		case own[name] != nil:
			source = "repo"
		case team[name] != nil:
			source = "team"
		}
		out[name] = Value{source, value}
	}
	return out
}

// Defaults are how the team's repositories are reviewed, where nothing is set for one: a repository without a name.
func (rs *Reviews) Defaults(ctx context.Context) (r Repository, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return r, err
	}
	r.TeamID = c.TeamID
	err = rs.db.QueryRow(ctx, `SELECT config FROM review_defaults WHERE team_id = ?`, c.TeamID).Scan(db.Into(&r.Team))
	if db.IsNoRows(err) {
		err = nil
	}
	return r, err
}

// SetDefaults changes them.
func (rs *Reviews) SetDefaults(ctx context.Context, change Config, reset []string) (r Repository, err error) {
	c, err := rs.admin(ctx, GitLab) // needs no App
	if err != nil {
		return r, err
	}
	if err := change.check(); err != nil {
		return r, err
	}
	if r, err = rs.Defaults(ctx); err != nil {
		return r, err
	}
	if r.Team, err = r.Team.with(change, reset); err != nil {
		return r, err
	}
	_, err = rs.db.Exec(ctx, `INSERT INTO review_defaults (team_id, config) VALUES (?, ?)
		ON CONFLICT (team_id) DO UPDATE SET config = excluded.config`, c.TeamID, db.Doc(r.Team))
	return r, err
}

// Configure changes the configuration of a repository, which must have the name, if one is given: an id of another
// would change the wrong one.
func (rs *Reviews) Configure(ctx context.Context, at Forge, id, fullName string, change Config, reset []string) (
	r Repository, err error,
) {
	c, err := rs.admin(ctx, at)
	if err != nil {
		return r, err
	}
	if r, err = rs.Repository(ctx, at, id); err != nil {
		return r, err
	}
	if fullName != "" && !strings.EqualFold(r.FullName, fullName) {
		return r, errs.Field("repo_full_name", "repo_full_name is not that of this repository, %s.", r.FullName)
	}
	if err := change.check(); err != nil {
		return r, err
	}
	if r.Config, err = r.Config.with(change, reset); err != nil {
		return r, err
	}
	return r, db.ExecOr(ctx, rs.db, at.missing(), `UPDATE review_repo SET config = ? WHERE id = ? AND team_id = ?`, db.Doc(r.Config), r.ID,
		c.TeamID)
}

// check refuses patterns that are none.
func (c Config) check() error {
	for name, list := range map[string]*[]string{"exclude_patterns": c.Exclude, "branch_include": c.BranchInclude,
		"branch_exclude": c.BranchExclude} {
		if list == nil {
			continue
		}
		for _, pattern := range *list {
			if _, err := path.Match(pattern, ""); err != nil || pattern == "" || len(pattern) > 500 {
				return errs.Field(name, "%s holds %q, which is no pattern.", name, errs.Clip(pattern, 64))
			}
		}
	}
	return nil
}

// matches reports whether a name matches one of the patterns: * is for what is in a folder, ** for folders too.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		text := regexp.QuoteMeta(p)
		text = strings.NewReplacer(`\*\*/`, `(?:.*/)?`, `\*\*`, `.*`, `\*`, `[^/]*`, `\?`, `[^/]`).Replace(text)
		re, err := regexp.Compile("^" + text + "$")
		return err == nil && re.MatchString(name)
	})
}

// automatic reports whether a change is reviewed without a command.
func (c Config) automatic(s forge.Change) bool {
	e := c.Effective()
	fits := func(include, exclude []string, has func(pattern string) bool) bool {
		return (len(include) == 0 || slices.ContainsFunc(include, has)) && !slices.ContainsFunc(exclude, has)
	}
	return *e.AutoReview && (!s.Draft || *e.Draft == DraftReview) &&
		fits(*e.AuthorInclude, *e.AuthorExclude, func(p string) bool { return strings.EqualFold(p, s.Author) }) &&
		fits(*e.BranchInclude, *e.BranchExclude, func(p string) bool { return matches([]string{p}, s.Into) }) &&
		fits(*e.KeywordInclude, *e.KeywordExclude, func(p string) bool {
			return strings.Contains(strings.ToLower(s.Title), strings.ToLower(p))
		}) &&
		fits(*e.LabelInclude, *e.LabelExclude, func(p string) bool {
			return slices.ContainsFunc(s.Labels, func(l string) bool { return strings.EqualFold(l, p) })
		})
}
