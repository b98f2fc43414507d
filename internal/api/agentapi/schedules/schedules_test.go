package schedules

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/core/taskschedule"
)

func TestRequestsHaveDefaults(t *testing.T) {
	r, err := Request{Message: "x", Frequency: "daily"}.service()
	if err != nil || r.Type != taskschedule.Recurring || r.Options.Reporting != taskschedule.Full {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := (Request{Message: "x", RunAt: "5m"}).service(); err != nil || r.Type != taskschedule.OneTime {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestPatchesLeaveWhatIsAbsent(t *testing.T) {
	was := task.Options{AgentID: "a", Model: "m", FileKeys: []string{"f"}, Secrets: []string{"S"}, Visibility: "team"}
	now := was
	Patch{}.options(&now)
	if now.AgentID != "a" || now.Model != "m" || len(now.FileKeys) != 1 || len(now.Secrets) != 1 || now.Visibility != "team" {
		t.Errorf("%+v", now)
	}
	none := ""
	Patch{AgentID: &none, FileKeys: []string{}}.options(&now)
	if now.AgentID != "" || len(now.FileKeys) != 0 || len(now.Secrets) != 1 {
		t.Errorf("%+v", now)
	}
	up, err := Patch{Delivery: new("none"), Weekdays: []int{}}.service()
	if err != nil || *up.Delivery != task.NoDelivery || up.Weekdays == nil || up.Metadata != nil {
		t.Errorf("%+v, %v", up, err)
	}
}
