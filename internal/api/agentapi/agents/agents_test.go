package agents

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/customagent"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// What is refused is refused by its name, absent lists stay, and lists of an answer are never null.
func TestShapesOfAgents(t *testing.T) {
	if _, err := (AgentRequest{IsDynamic: true}).update(); errs.From(err) == nil || errs.From(err).Param != "is_dynamic" {
		t.Errorf("is_dynamic: %v", err)
	}
	up, err := AgentRequest{CustomTools: &[]CustomTool{{ID: "x", CommandTemplate: "true"}}, VerifyCommands: &[]string{}}.update()
	if err != nil || (*up.CustomTools)[0].Command != "true" || up.Verify == nil || up.Install != nil {
		t.Errorf("%+v, %v", up, err)
	}
	text, err := json.Marshal(agentDoc(customagent.Agent{Text: customagent.Text{Tags: []string{}, NativeTools: []string{}}}))
	if err != nil || strings.Contains(string(text), `s":null`) || !strings.Contains(string(text), `"skills":[]`) ||
		!strings.Contains(string(text), `"install_commands":[]`) || !strings.Contains(string(text), `"published_at":null`) {
		t.Errorf("%s, %v", text, err)
	}
}
