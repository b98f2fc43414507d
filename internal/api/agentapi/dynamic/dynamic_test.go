package dynamic

import (
	"testing"
	"time"
)

// A patch changes what it names and nothing else.
func TestPatchesLeaveWhatIsAbsent(t *testing.T) {
	c, err := ProgramPatch{}.change()
	if err != nil || c.Code != nil || c.Timeout != nil || c.InputSchema != nil || c.OutputSchema != nil {
		t.Errorf("%+v, %v", c, err)
	}
	c, err = ProgramPatch{Timeout: new(int64(1500)), OutputSchema: &map[string]any{"type": "object"}}.change()
	if err != nil || *c.Timeout != 1500*time.Millisecond || c.InputSchema != nil || string(*c.OutputSchema) != `{"type":"object"}` {
		t.Errorf("%+v, %v", c, err)
	}
}
