package prompts

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// A request has an instruction or a prompt, and values only with a prompt.
func TestAnInstructionOrAPrompt(t *testing.T) {
	for field, u := range map[string]Use{
		"prompt_values": {PromptValues: map[string]string{"a": "b"}}, "prompt_version": {PromptVersion: 1}, "prompt_id": {PromptID: "p"},
	} {
		if _, _, err := u.Fill(t.Context(), nil, "task", "do it"); errs.From(err) == nil || errs.From(err).Param != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if text, f, err := (Use{}).Fill(t.Context(), nil, "task", "do it"); text != "do it" || f.PromptID != "" || err != nil {
		t.Errorf("%q, %+v, %v", text, f, err)
	}
}
