package skills

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// A skill is sent as a SKILL.md or as its fields, not both, and a patch changes what it names and nothing else.
func TestASkillIsSentInOneWay(t *testing.T) {
	const text = "---\nname: a\ndescription: d\nmodel: x\n---\nDo."
	n, ignored, err := Request{SkillMD: text}.service()
	if err != nil || n.Name != "a" || n.Instructions != "Do." || len(ignored) != 1 || ignored[0] != "model" {
		t.Errorf("%+v, %v, %v", n, ignored, err)
	}
	if _, _, err := (Request{SkillMD: text, Name: "a"}).service(); errs.From(err) == nil || errs.From(err).Param != "skill_md" {
		t.Errorf("both: %v", err)
	}
	if c := (Patch{}).change(); c.Files != nil || c.Instructions != nil || c.Enabled != nil {
		t.Errorf("%+v", c)
	}
}
