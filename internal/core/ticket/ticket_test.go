package ticket

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/notify/tracker"
	"github.com/vedette-sec/vedette/internal/notify/tracker/trackertest"
)

const secret = "correct-horse-battery"

// A finding and its issue follow each other at every tracker: opened, put to work, closed, opened again, declined.
func TestBothWays(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		for i, provider := range trackertest.Providers() {
			desk, configID := r.desk(t, provider, "comments: true")
			f := r.found(t, i)
			k := r.want(t, desk, configID, f)
			r.run(t)
			list := desk.Issues()
			if len(list) != 1 || list[0].State != trackertest.Open {
				t.Fatalf("%s: %+v %+v", provider, list, r.ticket(t, k))
			}
			id := list[0].ID
			at := func(what, want string, status finding.Status) {
				t.Helper()
				list := desk.Issues()
				if last := list[len(list)-1]; last.State != want || r.status(t, f) != status {
					t.Errorf("%s: %s: the issue is %s, the finding %s; %+v", provider, what, last.State, r.status(t, f), r.ticket(t, k))
				}
			}
			for _, c := range []struct {
				decided finding.Status
				want    string
			}{
				{finding.Triaged, trackertest.Open}, {finding.FixInProgress, trackertest.Progress}, {finding.Fixed, trackertest.Done},
				{finding.Open, trackertest.Open},
			} {
				r.decide(t, f, c.decided)
				r.run(t)
				at("decided "+string(c.decided), c.want, c.decided)
			}
			desk.Move(id, trackertest.Progress)
			r.poll(t, k)
			at("work began", trackertest.Progress, finding.FixInProgress)
			desk.Move(id, trackertest.Open)
			r.poll(t, k)
			at("and ended", trackertest.Open, finding.Open)
			desk.Say(id, "ann", "It is deployed.")
			desk.Move(id, trackertest.Done)
			r.poll(t, k)
			at("claimed", trackertest.Done, finding.FixInProgress)
			if n := r.retests(t, finding.Matched); n != 1 {
				t.Errorf("%s: %d retests", provider, n)
			}
			r.run(t)
			at("still there", trackertest.Open, finding.Open)
			desk.Move(id, trackertest.Done)
			r.poll(t, k)
			r.retests(t, finding.NotMatched)
			r.run(t)
			at("fixed", trackertest.Done, finding.Fixed)
			r.decide(t, f, finding.AcceptedRisk)
			r.run(t)
			at("accepted", trackertest.Declined, finding.AcceptedRisk)
			_, changes, _, _ := desk.Counts()
			for range 3 { // and then there is peace
				r.wait(t, time.Hour)
				r.poll(t, k)
			}
			if _, after, _, _ := desk.Counts(); after != changes || len(r.waiting(t)) != 0 {
				t.Errorf("%s: %d writes in the calm", provider, after-changes)
			}
			if line := r.timeline(t, f); !strings.Contains(line, "comment:It is deployed.") || strings.Count(line, "comment:") != 1 {
				t.Errorf("%s: %s", provider, line)
			}
			if wrong := desk.Wrong(); len(wrong) > 0 {
				t.Errorf("%s: not understood: %q", provider, wrong)
			}
			// A record that is closed for good is not touched: another takes its place.
			r.decide(t, f, finding.Open)
			r.run(t)
			if n := len(desk.Issues()); n != 1 && provider != "servicenow" || n != 2 && provider == "servicenow" {
				t.Errorf("%s: %d issues", provider, n)
			}
			at("open again", trackertest.Open, finding.Open)
		}
	})
}

// What a tracker declines is a suggestion: it decides nothing.
func TestDeclinedIsASuggestion(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		desk, configID := r.desk(t, "github")
		f := r.found(t, 1)
		k := r.want(t, desk, configID, f)
		r.run(t)
		desk.Label("1", "wontfix")
		r.poll(t, k)
		desk.Move("1", trackertest.Declined)
		r.poll(t, k)
		r.wait(t, time.Hour)
		r.poll(t, k)
		if line := r.timeline(t, f); line != "ticket_suggested:wontfix ticket_suggested:closed not_planned" || r.status(t, f) != finding.Open {
			t.Errorf("%s, %s", line, r.status(t, f))
		}
		if _, changes, _, _ := desk.Counts(); changes != 0 {
			t.Errorf("%d writes", changes)
		}
		r.decide(t, f, finding.AcceptedRisk) // a person agrees, and nothing has to be written
		r.run(t)
		if _, changes, _, _ := desk.Counts(); changes != 0 || r.ticket(t, k).Ours != tracker.Declined {
			t.Errorf("%d writes, %+v", changes, r.ticket(t, k))
		}
		r.decide(t, f, finding.Open)
		r.run(t)
		if i := desk.Issues()[0]; i.State != trackertest.Open || slices.Contains(i.Labels, "wontfix") {
			t.Errorf("%+v", i)
		}
	})
}

// When both sides have changed nothing is overwritten, until a person says which counts.
func TestConflict(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		for i, c := range []struct {
			ours, theirs  finding.Status
			remote        string
			keepOurs      bool
			status        finding.Status
			wantState     string
			want          finding.Status
			refusedWithNo bool
		}{
			{ours: finding.AcceptedRisk, remote: trackertest.Progress, keepOurs: true, wantState: trackertest.Declined, want: finding.AcceptedRisk},
			{ours: finding.AcceptedRisk, remote: trackertest.Progress, wantState: trackertest.Progress, want: finding.FixInProgress},
			{ours: finding.Fixed, remote: trackertest.Declined, status: finding.FalsePositive, wantState: trackertest.Declined,
				want: finding.FalsePositive, refusedWithNo: true},
			{ours: finding.FixInProgress, remote: trackertest.Done, wantState: trackertest.Done, want: finding.FixInProgress},
		} {
			desk, configID := r.desk(t, "gitlab")
			f := r.found(t, i)
			k := r.want(t, desk, configID, f)
			r.run(t)
			desk.Move("1", c.remote)
			r.decide(t, f, c.ours)
			r.run(t)
			r.poll(t, k)
			if is := r.ticket(t, k); is.ConflictAt.IsZero() || desk.Issues()[0].State != c.remote || r.status(t, f) != c.ours ||
				strings.Count(r.timeline(t, f), "ticket_conflict") != 1 {
				t.Errorf("%d: %+v, %s, %s", i, is, desk.Issues()[0].State, r.timeline(t, f))
			}
			by := Resolution{ConfigID: configID, Provider: "gitlab", Ours: c.keepOurs}
			if c.refusedWithNo {
				if err := r.Resolve(r.alice, f.ID, by); errs.From(err).Param != "vuln_status" {
					t.Errorf("%v", err)
				}
			}
			by.Status = c.status
			if err := r.Resolve(r.alice, f.ID, by); err != nil {
				t.Fatal(err)
			}
			r.run(t)
			if is := r.ticket(t, k); !is.ConflictAt.IsZero() || desk.Issues()[0].State != c.wantState || r.status(t, f) != c.want {
				t.Errorf("%d: %+v, %s, %s", i, is, desk.Issues()[0].State, r.status(t, f))
			}
			if err := r.Resolve(r.alice, f.ID, by); !errs.Is(err, errs.NotFound) {
				t.Errorf("%v", err)
			}
		}
	})
}

// A conflict is resolved as its resolution says also where the side that counts is again what it was when both were in
// step last: then the other side follows.
func TestResolvedAfterOneSideReturned(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		for i, ours := range []bool{true, false} {
			desk, configID := r.desk(t, "gitlab")
			f := r.found(t, i)
			k := r.want(t, desk, configID, f)
			r.run(t) // both are open
			desk.Move("1", trackertest.Progress)
			r.decide(t, f, finding.AcceptedRisk)
			r.run(t)
			r.poll(t, k)
			if is := r.ticket(t, k); is.ConflictAt.IsZero() {
				t.Fatalf("ours %t: there is no conflict: %+v", ours, is)
			}
			if ours {
				r.decide(t, f, finding.Open)
			} else {
				desk.Move("1", trackertest.Open)
			}
			if err := r.Resolve(r.alice, f.ID, Resolution{ConfigID: configID, Provider: "gitlab", Ours: ours}); err != nil {
				t.Fatal(err)
			}
			r.run(t)
			is := r.ticket(t, k)
			if !is.ConflictAt.IsZero() || desk.Issues()[0].State != trackertest.Open || r.status(t, f) != finding.Open {
				t.Errorf("ours %t: %+v, the issue is %s, the finding %s", ours, is, desk.Issues()[0].State, r.status(t, f))
			}
		}
	})
}

// What was decided while the tracker was away reaches the issue, also when it is what both sides were before the retest of
// a claim: the retest has ended that.
func TestDecidedAgainAfterAClaim(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		for i, result := range []finding.RetestState{finding.Matched, finding.NotMatched} {
			desk, configID := r.desk(t, "jira", "")
			f := r.found(t, i)
			k := r.want(t, desk, configID, f)
			r.run(t)
			desk.Move(desk.Issues()[0].ID, trackertest.Done)
			r.poll(t, k)
			desk.Down(true)
			r.retests(t, result)
			r.decide(t, f, finding.FixInProgress)
			desk.Down(false)
			r.wait(t, 2*time.Hour)
			r.run(t)
			if got := desk.Issues()[0].State; got != trackertest.Progress || r.status(t, f) != finding.FixInProgress {
				t.Errorf("%s: the issue is %s, the finding %s; %+v", result, got, r.status(t, f), r.ticket(t, k))
			}
		}
	})
}

// A process that dies after the tracker has done its will, and before that is on record, does nothing twice.
func TestKilled(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		for i, provider := range trackertest.Providers() {
			desk, configID := r.desk(t, provider, "comments: true")
			f := r.found(t, i)
			k := r.want(t, desk, configID, f)
			tr, _, err := r.trackerOf(r.alice, r.team, configID, desk.Name())
			if err != nil {
				t.Fatal(err)
			}
			killed := func() { // the answer of the next write never comes, and nobody is left to note that
				t.Helper()
				desk.Lose(1)
				one, ok, err := r.take(r.alice, k)
				if err != nil || !ok {
					t.Fatal(ok, err)
				}
				if err := r.sync(r.alice, tr, &one); err == nil {
					t.Fatalf("%s: the answer was not lost", provider)
				}
				if err := r.Sync(r.alice, k); err != nil { // while the claim holds
					t.Fatal(err)
				}
				r.wait(t, claimTime+time.Minute)
			}
			killed()
			if created, _, _, _ := desk.Counts(); created != 1 || r.ticket(t, k).IssueID == "" {
				t.Errorf("%s: %d issues, %+v", provider, created, r.ticket(t, k))
			}
			r.decide(t, f, finding.Fixed)
			killed()
			_, changes, said, _ := desk.Counts()
			if is := r.ticket(t, k); changes != 1 || said != 1 || is.Theirs != tracker.Done || is.Pending != 0 || r.status(t, f) != finding.Fixed {
				t.Errorf("%s: %d writes, %d comments, %+v", provider, changes, said, is)
			}
			// It is taken back before anybody knows whether it was written: what the issue says is ours, and no news.
			desk.Lose(1)
			one, ok, err := r.take(r.alice, k)
			r.decide(t, f, finding.Open)
			if failed := r.sync(r.alice, tr, &one); !ok || err != nil || failed == nil {
				t.Fatal(ok, err, failed)
			}
			r.decide(t, f, finding.Fixed)
			r.wait(t, claimTime+time.Minute)
			r.wait(t, time.Hour)
			if desk.Issues()[0].State != trackertest.Done || r.status(t, f) != finding.Fixed || strings.Contains(r.timeline(t, f), "ticket_") {
				t.Errorf("%s: %+v, %s", provider, desk.Issues()[0].State, r.timeline(t, f))
			}
			if _, err := r.comments.Add(r.alice, f.ID, "Well done."); err != nil {
				t.Fatal(err)
			}
			killed()
			n := 0
			for _, c := range desk.Issues()[0].Comments {
				n += strings.Count(c.Text, "Well done.")
			}
			if n != 1 || strings.Count(r.timeline(t, f), "comment:") != 1 {
				t.Errorf("%s: the comment was written %d times; %s", provider, n, r.timeline(t, f))
			}
		}
	})
}

// Outages of the tracker lose nothing, and neither do limits; while they last it is hardly asked.
func TestOutage(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		desk, configID := r.desk(t, "github", "comments: true")
		var all []finding.Finding
		var keys []key
		for i := range 5 {
			all = append(all, r.found(t, i))
			keys = append(keys, r.want(t, desk, configID, all[i]))
		}
		r.run(t)
		desk.Down(true)
		for day := range 20 {
			for i, f := range all {
				r.decide(t, f, []finding.Status{finding.Open, finding.Fixed}[(i+day)%2])
				if day == 0 {
					if _, err := r.comments.Add(r.alice, f.ID, fmt.Sprint("comment ", i)); err != nil {
						t.Fatal(err)
					}
				}
			}
			r.wait(t, 3*time.Hour)
		}
		if is := r.ticket(t, keys[0]); is.Error == "" || is.Pending == 0 || is.RetryAt.IsZero() || is.RetryAt.Sub(r.now()) > 2*time.Hour {
			t.Errorf("%+v", is)
		}
		desk.Down(false)
		desk.Refuse(trackertest.Refusal{Status: 403, Header: map[string]string{"Retry-After": "1800"}}, trackertest.Refusal{Status: 503})
		for range 12 {
			r.wait(t, time.Hour)
		}
		for i, f := range all {
			list := desk.Issues()
			issue := list[slices.IndexFunc(list, func(i trackertest.Issue) bool { return strings.Contains(i.Text, f.Hash) })]
			want := map[finding.Status]string{finding.Open: trackertest.Open, finding.Fixed: trackertest.Done}[r.status(t, f)]
			if is := r.ticket(t, keys[i]); issue.State != want || is.Pending != 0 || is.Error != "" {
				t.Errorf("%d: %s, want %s; %+v", i, issue.State, want, is)
			}
			var order []string
			for _, c := range issue.Comments {
				first, _, _ := strings.Cut(c.Text, "\n\nvedette-note")
				order = append(order, first)
			}
			if text := strings.Join(order, "|"); strings.Count(text, fmt.Sprint("comment ", i)) != 1 || len(order) > 8 {
				t.Errorf("%d: %s", i, text)
			}
		}
	})
}

// A limit of the provider makes the other tickets wait, too, and so does our own count of writes.
func TestLimits(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		desk, configID := r.desk(t, "github")
		for i := range 4 {
			r.want(t, desk, configID, r.found(t, i))
		}
		desk.Refuse(trackertest.Refusal{Status: 403, Header: map[string]string{"Retry-After": "600"}, Body: `{"message": "You have exceeded a secondary rate limit"}`})
		r.run(t)
		if created, _, _, reads := desk.Counts(); created != 0 || reads != 0 {
			t.Errorf("%d issues, %d requests after the limit", created, reads)
		}
		r.wait(t, 5*time.Minute)
		if created, _, _, reads := desk.Counts(); created != 0 || reads != 0 {
			t.Errorf("%d issues, %d requests within the time that it has asked for", created, reads)
		}
		r.wait(t, 6*time.Minute)
		if created, _, _, _ := desk.Counts(); created != 4 {
			t.Errorf("%d issues", created)
		}
		k := key{TeamID: r.team, ConfigID: configID, Provider: "github"}
		n := 0
		for ; n < 1000; n++ {
			if err := r.spend(r.alice, k, tracker.Limits{PerMinute: 70, PerHour: 450}); err != nil {
				if !isRemote(err) {
					t.Fatal(err)
				}
				break
			}
		}
		if n > 70 || n < 60 {
			t.Errorf("%d writes in a minute", n)
		}
	})
}

func TestGone(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		desk, configID := r.desk(t, "github")
		f := r.found(t, 1)
		k := r.want(t, desk, configID, f)
		r.run(t)
		desk.Refuse(trackertest.Refusal{Status: 404}, trackertest.Refusal{Status: 401}) // the token has lost its rights
		r.decide(t, f, finding.Fixed)
		r.run(t)
		if is := r.ticket(t, k); is.IsGone || is.Error == "" {
			t.Errorf("%+v", is)
		}
		r.wait(t, 2*time.Hour)
		if is := r.ticket(t, k); is.IsGone || is.Error != "" || desk.Issues()[0].State != trackertest.Done {
			t.Errorf("%+v", is)
		}
		desk.Remove("1")
		r.decide(t, f, finding.Open)
		r.run(t)
		now, err := r.findings.Find(r.alice, f.ID)
		if is := r.ticket(t, k); !is.IsGone || err != nil || now.IsTicket || !strings.HasSuffix(r.timeline(t, f), "ticket_gone:") {
			t.Errorf("%+v %v %s", is, now.IsTicket, r.timeline(t, f))
		}
		err = r.FileOne(r.alice, finding.FileArgs{TeamID: r.team, FindingID: f.ID, ConfigID: configID, Provider: "github", SeenIn: "s/2"})
		if r.run(t); err != nil || len(desk.Issues()) != 0 {
			t.Errorf("a scan has opened a deleted issue: %v", err)
		}
		if made, err := r.File(r.alice, f.ID, configID); err != nil || made.Issue.ID == "" || len(desk.Issues()) != 1 {
			t.Errorf("a person has not: %+v %v", made, err)
		}
	})
}

// A webhook is taken when its sender knows the secret, once; what is refused has no effect and no difference.
func TestReceive(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		for i, provider := range trackertest.Providers() {
			desk, configID := r.desk(t, provider, "webhook-secret: "+secret)
			f := r.found(t, i)
			k := r.want(t, desk, configID, f)
			r.run(t)
			r.poll(t, k)
			id := desk.Issues()[0].ID
			desk.Move(id, trackertest.Progress)
			send := func(configID, provider string, header http.Header, body []byte) bool {
				t.Helper()
				ok, err := r.Receive(t.Context(), configID, provider, header, nil, body)
				if err != nil {
					t.Fatal(err)
				}
				return ok
			}
			bad, _, body := desk.Hook(id, "ann", "another-secret-word")
			header, _, signed := desk.Hook(id, "ann", secret)
			if send(configID, desk.Name(), bad, body) || send("00000000-0000-0000-0000-000000000000", desk.Name(), header, signed) ||
				send(configID, "nothing", header, signed) || send("\x00\xff", desk.Name(), header, signed) || len(r.waiting(t)) != 0 {
				t.Errorf("%s: taken from somebody", provider)
			}
			if !send(configID, desk.Name(), header, signed) || len(r.waiting(t)) != 1 {
				t.Errorf("%s: not taken", provider)
			}
			r.run(t)
			if r.status(t, f) != finding.FixInProgress {
				t.Errorf("%s: %s", provider, r.status(t, f))
			}
			if !send(configID, desk.Name(), header, signed) || len(r.waiting(t)) != 0 {
				t.Errorf("%s: taken twice", provider)
			}
			account, err := db.Value[string](r.alice, d, `SELECT account FROM ticket_tracker`+ofTracker, pollOf(k).args()...)
			if err != nil || account == "" && provider != "custom" {
				t.Errorf("%s: we are %q, %v", provider, account, err)
			}
			own, _, about := desk.Hook(id, account, secret)
			if !send(configID, desk.Name(), own, about) || len(r.waiting(t)) != 0 && provider != "custom" {
				t.Errorf("%s: an echo has made a job", provider)
			}
			r.run(t)
		}
	})
}

// A configuration that was deleted leaves nothing that waits.
func TestWithoutConfiguration(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		desk, configID := r.desk(t, "github")
		f := r.found(t, 1)
		k := r.want(t, desk, configID, f)
		r.run(t)
		if err := r.settings.Delete(r.alice, configID); err != nil {
			t.Fatal(err)
		}
		r.decide(t, f, finding.Fixed)
		r.run(t)
		r.poll(t, k)
		r.wait(t, 24*time.Hour)
		if is := r.ticket(t, k); is.Pending != 0 || is.Error == "" || len(r.waiting(t)) != 0 || desk.Issues()[0].State != trackertest.Open {
			t.Errorf("%+v", is)
		}
	})
}
