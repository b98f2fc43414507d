package jobs

import (
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/export"
	"github.com/vedette-sec/vedette/internal/core/notification"
	"github.com/vedette-sec/vedette/internal/core/reportschedule"
	"github.com/vedette-sec/vedette/internal/core/schedule"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/notify/alert"
)

// A report that was due and could not be made is told to the channels of its schedule and to the team's global ones.
func TestFailedReportIsTold(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := open(t, d)
		global, named := listen(t), listen(t)
		o.configure(t, setting.Alerting, true, "events: [failed_stopped]\nwebhook: {webhook_url: "+global.url+"}\n")
		id := o.configure(t, setting.Alerting, false, "webhook: {webhook_url: "+named.url+"}\n")
		s, err := o.reports.Create(o.ctx, "For the board", true, reportschedule.Spec{Format: export.CSV, KeepDays: 1,
			ConfigIDs: []string{id}, Rule: reportschedule.Rule{Frequency: schedule.Weekly, StartTime: "07:00"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Exec(o.ctx, `UPDATE report_schedule SET user_id = 'nobody', next_run = ?`,
			db.At(time.Now().Add(-time.Hour))); err != nil {
			t.Fatal(err)
		}
		if err := o.reports.Sweep(o.ctx); err != nil {
			t.Fatal(err)
		}
		for _, n := range o.settled(t, s.ID, 2) {
			if n.State != notification.Sent || n.Kind != notification.OfReport || n.Run != 1 {
				t.Errorf("%+v", n)
			}
		}
		for _, e := range []*ear{global, named} {
			if len(e.heard) != 1 || e.heard[0].Kind != alert.Failed || e.heard[0].ReportName != "For the board" ||
				!strings.Contains(e.heard[0].Message, "no longer in the team") {
				t.Errorf("heard %+v", e.heard)
			}
		}
	})
}
