package skill

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/sharing"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/yamltext"
)

// fileName is the file that makes a folder a skill.
const fileName = "SKILL.md"

// Parse reads the text of a SKILL.md: a block of YAML with name and description, then instructions. ignored are the
// fields that have no effect here. Invalid is about the field skill_md.
func Parse(text string) (t Text, ignored []string, err error) {
	head, body, err := yamltext.Front(text)
	if err != nil {
		return t, nil, errs.Field("skill_md", "skill_md: %s.", errs.Clip(err.Error(), 200))
	}
	t = Text{Instructions: body, Metadata: map[string]string{}}
	for key, value := range head {
		to := map[string]*string{"name": &t.Name, "description": &t.Description, "license": &t.License,
			"compatibility": &t.Compatibility}[key]
		fields, isMap := value.(map[string]any)
		switch {
		case to != nil:
			words, err := yamltext.Words(value)
			if err != nil || len(words) > 1 {
				return t, nil, errs.Field("skill_md", "skill_md: %s must be a text.", key)
			}
			*to = strings.TrimSpace(strings.Join(words, ""))
		case key == "metadata" && isMap:
			for name, v := range fields {
				t.Metadata[name] = fmt.Sprint(v)
			}
		default:
			ignored = append(ignored, errs.Clip(key, 64))
		}
	}
	slices.Sort(ignored)
	return t, ignored, nil
}

// Markdown is the SKILL.md of a skill.
func (t Text) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\nname: %s\ndescription: %q\n", t.Name, t.Description)
	for _, field := range []struct{ name, value string }{{"license", t.License}, {"compatibility", t.Compatibility}} {
		if field.value != "" {
			fmt.Fprintf(&b, "%s: %q\n", field.name, field.value)
		}
	}
	b.WriteString("---\n" + t.Instructions + "\n")
	return b.String()
}

//go:embed shipped/*.md
var files embed.FS

const shippedPrefix = "vedette-"

// shipped are the skills that come with the server, by name.
func shipped() (all []Skill) {
	entries, err := files.ReadDir("shipped")
	if err != nil {
		panic(err) // the files are embedded
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, entry := range entries {
		text, err := files.ReadFile("shipped/" + entry.Name())
		if err != nil {
			panic(err)
		}
		t, _, err := Parse(string(text))
		if err == nil {
			err = t.check()
		}
		if err != nil || t.Name+".md" != entry.Name() {
			panic(fmt.Errorf("the skill %s: %w", entry.Name(), err))
		}
		all = append(
			all,
			Skill{ID: shippedPrefix + t.Name, Origin: sharing.Shipped, Text: t, Shared: true, Enabled: true, Source: FromServer,
				Version: 1, Hash: hashOf(t), CreatedAt: at, UpdatedAt: at},
		)
	}
	return all
}
