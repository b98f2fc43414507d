package action

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/loop"
)

// An action without an end is under way, or was cut off when its stream has ended.
func TestActionsHaveEnds(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	entry := func(seq int64, turn int, kind loop.EntryKind, key string, body any) loop.Entry {
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		return loop.Entry{Seq: seq, Stream: turn, Branch: "main", Kind: kind, Key: key, Body: text, At: at.Add(time.Duration(seq) * time.Second)}
	}
	events := Of("t1", map[int]Stream{0: {"s0", true}, 1: {"s1", false}}, []loop.Entry{
		entry(1, 0, loop.ToolCall, "a", loop.Called{Tool: "crawl"}), entry(2, 0, loop.ToolCall, "b", loop.Called{Tool: "probe"}),
		entry(4, 0, loop.ToolResult, "a", loop.Returned{Tool: "crawl", Status: "completed"}), entry(5, 1, loop.ToolCall, "a", loop.Called{Tool: "scan"}),
	})
	if len(events) != 3 || events[0].Status != Completed || events[0].DurationMS != 3000 || events[1].Status != Aborted ||
		events[1].StreamID != "s0" || events[2].Status != Started || events[2].ID != "t1-5" {
		t.Errorf("%+v", events)
	}
	if (Filter{ToolName: "crawl"}).Picks(events[1]) || !(Filter{ToolName: "crawl", Status: Completed}).Picks(events[0]) {
		t.Error("the filter")
	}
}
