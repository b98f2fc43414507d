package chat

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/audit"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/hook"
	"github.com/vedette-sec/vedette/internal/core/secret"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/infra/ratelimit"
	"github.com/vedette-sec/vedette/internal/infra/seal"
	"github.com/vedette-sec/vedette/internal/notify/slack"
	"github.com/vedette-sec/vedette/internal/notify/slack/slacktest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// room is the service with a team whose workspace is connected; ada is an admin of it, bob a member, vera a viewer.
type room struct {
	*Chats

	t    *testing.T
	stub *slacktest.Slack
	w    Workspace
	ada  context.Context
}

func open(t *testing.T, d *db.DB) *room {
	t.Helper()
	ctx, logger := t.Context(), slog.New(slog.DiscardHandler)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	accounts, err := account.Open(ctx, d, account.Config{})
	must(err)
	ada, err := accounts.CreateUser(ctx, account.NewUser{Email: "ada@example.com", Admin: true, Team: "blue"})
	must(err)
	for email, role := range map[string]account.Role{"bob@example.com": account.Member, "vera@example.com": account.Viewer} {
		_, err := accounts.CreateUser(ctx, account.NewUser{Email: email, Team: "blue"})
		must(err)
		_, err = d.Exec(ctx, `UPDATE member SET role = ? WHERE user_id = (SELECT id FROM user_account WHERE email = ?)`, role, email)
		must(err)
	}
	_, err = accounts.CreateUser(ctx, account.NewUser{Email: "eve@example.com", Admin: true, Team: "red"})
	must(err)
	q, err := queue.Open(ctx, d, queue.Config{Logger: logger})
	must(err)
	t.Cleanup(func() { _ = q.Stop(context.Background()) })
	box, err := seal.Open(filepath.Join(t.TempDir(), "key"))
	must(err)
	stub := slacktest.New()
	server := httptest.NewServer(stub)
	t.Cleanup(server.Close)
	guard := &netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	cs := New(d, Config{
		Queue: q, Box: box, Accounts: accounts, Secrets: secret.New(d, box),
		Audit: audit.New(d, box, 0, time.Now, logger), Client: slack.New(server.URL+"/api", guard), Logger: logger,
		Tasks: task.New(d, q, accounts, hook.New(d, guard, logger), finding.New(d, q), logger), PublicURL: "https://v.example/",
		App: slack.App{ClientID: slacktest.ClientID, ClientSecret: slacktest.ClientSecret, SigningSecret: slacktest.SigningSecret},
	})
	w, err := cs.keep(ctx, ada.TeamID, slack.Grant{Token: slacktest.Token, BotUser: slacktest.Bot, Team: slack.Named{ID: slacktest.Team, Name: "Blue"}}, "")
	must(err)
	return &room{cs, t, stub, w, account.WithCaller(ctx, account.Caller{UserID: ada.ID, TeamID: ada.TeamID, Role: account.Admin})}
}

func held(context.Context, *db.Tx) error { return nil }
func lost(context.Context, *db.Tx) error { return queue.ErrLeaseLost }

// said does an event and writes what it answers.
func (r *room) said(id, user, ts, thread, text string) {
	r.t.Helper()
	r.do(slack.Incoming{Kind: slack.Said, ID: id, Team: slacktest.Team, User: user, Channel: "C0MAIN", Mention: true, TS: ts, Thread: thread, Text: text})
}

func (r *room) do(in slack.Incoming) {
	r.t.Helper()
	ctx := r.t.Context()
	if err := r.db.Tx(ctx, func(tx *db.Tx) error { return r.take(ctx, tx, "", in) }); err != nil {
		r.t.Fatal(err)
	}
	a := EventArgs{r.w.ID + "/" + in.ID, r.w.ID, in}
	if err := r.act(ctx, a, lost); err == nil && in.User != "" {
		r.t.Error("the lease is not checked")
	}
	for range 2 { // the second time it is done
		if err := r.act(ctx, a, held); err != nil {
			r.t.Fatal(err)
		}
	}
	r.write()
}

// write writes all messages that wait.
func (r *room) write() {
	r.t.Helper()
	all, err := db.Values[string](r.t.Context(), r.db, `SELECT id FROM slack_message WHERE state IN (?, ?) ORDER BY id`, waiting, sending)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, id := range all {
		if err := r.post(r.t.Context(), PostArgs{id}, held); err != nil {
			r.t.Fatal(err)
		}
	}
}

// last checks what was written last, and how much there is.
func (r *room) last(n int, want string) slacktest.Message {
	r.t.Helper()
	all := r.stub.Messages()
	if len(all) != n || !strings.Contains(all[n-1].Text, want) {
		r.t.Fatalf("%d messages, want %d with %q: %+v", len(all), n, want, all)
	}
	return all[n-1]
}

func (r *room) tasks() []task.Task {
	r.t.Helper()
	all, _, err := r.Tasks.FindAll(r.ada, task.Filter{Limit: 10})
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

// tell does the job that the task has queued last.
func (r *room) tell(moment string) {
	r.t.Helper()
	var a task.TellArgs
	err := r.db.QueryRow(r.t.Context(), `SELECT args ->> 'task_id', args ->> 'stream_id', args ->> 'moment', CAST(args ->> 'seq' AS BIGINT)
		FROM river_job WHERE kind = 'task.tell' ORDER BY id DESC LIMIT 1`).Scan(&a.TaskID, &a.StreamID, &a.Moment, &a.Seq)
	if err != nil || a.Moment != moment {
		r.t.Fatalf("the last job is %+v: %v", a, err)
	}
	for range 2 {
		if err := r.Tell(r.t.Context(), a); err != nil {
			r.t.Fatal(err)
		}
	}
	r.write()
}

// ask suspends a task with a question.
func (r *room) ask(t task.Task, kind loop.AskKind, key string) {
	r.t.Helper()
	run, err := r.Tasks.Start(r.t.Context(), task.RunArgs{TaskID: t.ID, StreamID: t.StreamID})
	if err != nil {
		r.t.Fatal(err)
	}
	pending, err := json.Marshal([]loop.Waiting{{Branch: "main", Key: key, Ask: loop.Ask{Kind: kind, Text: "Which <http://x|page>?", Options: []string{"a", "b"}}}})
	if err == nil {
		err = run.Suspend(r.t.Context(), pending)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.tell(task.MomentAsks)
}

// find stores an issue of a run, and verifies it.
func (r *room) find(run *task.Run, severity, title string) {
	r.t.Helper()
	ctx := r.t.Context()
	id, err := run.StoreIssue(ctx, task.Issue{Severity: severity, Title: title, Target: "http://shop.example",
		Event: engine.Event{TemplateID: ids.Random(8)}})
	if err != nil {
		r.t.Fatal(err)
	}
	i, err := run.Issue(ctx, id)
	if err == nil {
		err = run.Confirm(ctx, i, task.Confirmation{Confirmed: 1, Tried: 1})
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

func TestAThread(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := open(t, d)
		r.said("Ev1", "U0ADA", "1.1", "", "<@U0BOT>")
		r.last(1, "Tell me what to test")
		r.said("Ev2", "U0ADA", "2.1", "", "<@U0BOT> check &lt;it&gt; at <http://shop.example|shop.example>")
		if m := r.last(2, "<@U0ADA> I am on it. <https://v.example/tasks/"); m.Thread != "2.1" {
			t.Errorf("%+v", m)
		}
		one := r.tasks()[0]
		if one.Instruction != "check <it> at shop.example" || one.Owner != "ada@example.com" || one.Options.Chat != Slack {
			t.Errorf("%+v", one)
		}
		r.said("Ev3", "U0ADA", "2.2", "2.1", "more")
		r.last(3, "The task is queued")
		r.said("Ev4", "U0BOB", "2.3", "2.1", "<@U0BOT> more")
		r.last(4, "<@U0BOB> Only who began a task continues it.")

		r.ask(one, loop.AskUser, "q1")
		r.last(5, "Which &lt;http://x|page&gt;?\n• a\n• b\nAnswer in this thread.")
		r.said("Ev5", "U0ADA", "2.4", "2.1", "the first")
		if one = r.tasks()[0]; one.Status != task.Resuming {
			t.Errorf("it is %s", one.Status)
		}
		r.ask(one, loop.AskApproval, "q2")
		m := r.last(6, "asks for your approval")
		r.said("Ev6", "U0ADA", "2.5", "2.1", "go ahead")
		r.last(7, "press a button")
		press := slack.Incoming{Kind: slack.Pressed, ID: "p1", Team: slacktest.Team, User: "U0VERA", Channel: "C0MAIN", TS: m.TS, Thread: "2.1",
			Action: approve, Value: m.Value}
		r.do(press)
		r.last(8, "A viewer of the team can read and not change.")
		elsewhere := press
		elsewhere.ID, elsewhere.User, elsewhere.Channel = "p2", "U0ADA", "C0OTHER"
		err := d.Tx(t.Context(), func(tx *db.Tx) error { return r.take(t.Context(), tx, "", elsewhere) })
		if err == nil {
			err = r.act(t.Context(), EventArgs{r.w.ID + "/p2", r.w.ID, elsewhere}, held)
		}
		if err != nil || r.tasks()[0].Status != task.Suspended {
			t.Errorf("a button from another channel: %v", err)
		}
		times, twice := 0, event{r.Chats, r.w, EventArgs{EventID: r.w.ID + "/p2"}, held}
		for range 2 { // two runs that both saw it open
			err = twice.once(t.Context(), func(*db.Tx) error { times++; return nil })
		}
		if times != 1 || err != nil {
			t.Errorf("it is done %d times: %v", times, err)
		}
		press.ID, press.User = "p3", "U0BOB"
		r.do(press)
		if got := r.stub.Messages()[5]; got.Edits != 1 || got.Value != "" || !strings.HasSuffix(got.Text, "_Approved by <@U0BOB>_") {
			t.Errorf("%+v", got)
		}
		press.ID = "p4"
		r.do(press)
		r.last(9, "That was decided already")

		if _, err := r.Secrets.Create(r.ada, secret.NewSecret{Name: "KEY", Value: "hunter2-hunter2-hunter2"}); err != nil {
			t.Fatal(err)
		}
		run, err := r.Tasks.Start(t.Context(), task.RunArgs{TaskID: one.ID, StreamID: one.StreamID})
		if err != nil {
			t.Fatal(err)
		}
		r.find(run, "low", "A <@U0ADA>\nhunter2-hunter2-hunter2")
		r.find(run, "info", "C")
		r.tell(task.MomentIssue)
		r.last(10, "Verified so far: 2. The worst:\n• low: A &lt;@U0ADA&gt; ")
		if n, err := db.Value[int](t.Context(), d, `SELECT count(*) FROM river_job WHERE kind = 'task.tell' AND args ->> 'moment' = 'issue'`); n != 1 ||
			err != nil {
			t.Errorf("%d jobs of issues: %v", n, err)
		}
		r.find(run, "high", "B")
		if err == nil {
			err = run.Finish(t.Context(), task.Outcome{Status: task.Completed,
				Summary: "<!channel> hunter2-hunter2-hunter2 " + slacktest.Token + strings.Repeat("é", 5000)})
		}
		if err != nil {
			t.Fatal(err)
		}
		r.tell(task.MomentEnded)
		end := r.last(11, "*Completed.* Verified issues: 3. <https://v.example/tasks/"+one.ID+"|Open the task>\n• high: B – http://shop.example\n• low: A &lt;@U0ADA&gt; ")
		if !strings.Contains(end.Text, "\n&lt;!channel&gt; ") || strings.Contains(end.Text, "hunter2") || strings.Contains(end.Text, slacktest.Token) || len([]rune(end.Text)) > slack.MaxText {
			t.Errorf("%+v", end)
		}
		r.said("Ev7", "U0ADA", "2.6", "2.1", "Plan: again")
		r.last(12, "I go on.")
		if again := r.tasks()[0]; again.ID != one.ID || again.Index != 1 || again.Options.Mode != string(loop.ModePlan) || again.Instruction != "again" {
			t.Errorf("%+v", again)
		}
		decided, err := r.Audit.Find(r.ada, audit.Filter{Action: "approve-task", Object: one.ID}, page.Window{Limit: 10})
		if err != nil || len(decided) != 4 || decided[0].Email != "bob@example.com" || decided[2].Status != http.StatusForbidden ||
			decided[3].Email != "ada@example.com" {
			t.Errorf("%+v %v", decided, err)
		}
		press.ID = "p5" // the button of the turn before
		r.do(press)
		r.last(13, "does not wait for a decision about that")
	})
}

// A member who asks for more than the rate of calls allows is told so, once, and nothing is begun; others are not held up.
func TestTooMuchAtOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := open(t, d)
		r.Rate = ratelimit.New(0.001, 1)
		for _, id := range []string{"Ev1", "Ev2", "Ev3"} {
			r.said(id, "U0ADA", "1."+id, "", "<@U0BOT> check shop.example")
		}
		r.last(2, "too much at once")
		r.said("Ev4", "U0BOB", "2.1", "", "<@U0BOT> check shop.example")
		r.last(3, "I am on it")
		if n, err := db.Value[int](t.Context(), d, `SELECT count(*) FROM task`); err != nil || n != 2 {
			t.Errorf("%d tasks, want one of each: %v", n, err)
		}
	})
}

func TestWhoMayNot(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := open(t, d)
		for i, user := range []string{"U0EVE", "U0AWAY", "U0NONE", "U0EVE"} {
			r.said("Ev"+user+string(rune('0'+i)), user, "1.1", "", "<@U0BOT> check shop.example")
		}
		r.last(3, "I do not know you") // once an hour for each
		r.said("Ev5", "U0VERA", "1.2", "", "<@U0BOT> check shop.example")
		r.last(4, "can read and not change")
		shared := slack.Incoming{Kind: slack.Said, ID: "Ev6", Team: slacktest.Team, User: "U0ADA", Channel: "C0MAIN", Mention: true, Shared: true,
			TS: "1.3", Text: "<@U0BOT> check shop.example"}
		r.do(shared)
		r.last(5, "shared with another organisation")
		r.stub.Fail("users.info", "fatal_error")
		if err := r.act(t.Context(), EventArgs{r.w.ID + "/Ev6", r.w.ID, shared}, held); err != nil {
			t.Errorf("what is done is done again: %v", err)
		}
		asked := slack.Incoming{Kind: slack.Said, ID: "Ev7", Team: slacktest.Team, User: "U0ADA", Channel: "C0MAIN", Mention: true, TS: "1.4", Text: "x"}
		err := d.Tx(t.Context(), func(tx *db.Tx) error { return r.take(t.Context(), tx, "", asked) })
		if err == nil {
			err = r.act(t.Context(), EventArgs{r.w.ID + "/Ev7", r.w.ID, asked}, held)
		}
		if err == nil {
			t.Error("a failure of Slack's that passes is for good")
		}
		r.stub.Fail("users.info", "missing_scope")
		if err := r.act(t.Context(), EventArgs{r.w.ID + "/Ev7", r.w.ID, asked}, held); err != nil {
			t.Error(err)
		}
		r.write()
		r.last(6, "I cannot ask Slack who you are")
		if got := r.tasks(); len(got) > 0 {
			t.Errorf("%+v", got)
		}
	})
}

// What is sent and not answered is looked for, what Slack refuses for now is not, and a thread keeps its order.
func TestAMessageIsWrittenOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := open(t, d)
		ctx := t.Context()
		err := d.Tx(ctx, func(tx *db.Tx) error {
			for _, key := range []string{"a", "b", "a"} {
				if err := r.say(ctx, tx, r.w, message{channel: "C0MAIN", thread: "1.1", key: key, text: key}); err != nil {
					return err
				}
			}
			return r.say(ctx, tx, r.w, message{channel: "C0GONE", thread: "1.1", key: "c", text: "c"})
		})
		if err != nil {
			t.Fatal(err)
		}
		jobs := func() []string {
			got, err := db.Values[string](ctx, d, `SELECT m.key FROM slack_message m WHERE EXISTS (SELECT 1 FROM river_job j
				WHERE j.kind = 'slack.post' AND j.args ->> 'message_id' = m.id) ORDER BY m.key`)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		if got := jobs(); !slices.Equal(got, []string{"a", "c"}) {
			t.Errorf("jobs of %v", got)
		}
		id := func(key string) PostArgs {
			got, err := db.Value[string](ctx, d, `SELECT id FROM slack_message WHERE key = ?`, key)
			if err != nil {
				t.Fatal(err)
			}
			return PostArgs{got}
		}
		if err := r.post(ctx, id("a"), lost); err == nil || r.stub.Calls("chat.postMessage") != 0 {
			t.Error("the lease is not checked")
		}
		r.stub.Limit("chat.postMessage", 30)
		if err := r.post(ctx, id("a"), held); err == nil {
			t.Error("429 is no error")
		}
		r.stub.Lose("chat.postMessage")
		if err := r.post(ctx, id("a"), held); err == nil || r.stub.Calls("conversations.replies") != 0 {
			t.Errorf("%v, and it was looked for what Slack had refused", err)
		}
		for range 2 {
			if err := r.post(ctx, id("a"), held); err != nil {
				t.Fatal(err)
			}
		}
		if r.last(1, "a"); r.stub.Calls("conversations.replies") != 1 {
			t.Error("it was not looked for")
		}
		if got := jobs(); !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Errorf("jobs of %v", got)
		}
		if err := r.post(ctx, id("c"), held); err != nil {
			t.Error(err)
		}
		if w, err := r.Status(r.ada); err != nil || !strings.Contains(w.Error, "channel_not_found") || w.Status != Active {
			t.Errorf("%+v %v", w, err)
		}
		r.stub.Fail("chat.postMessage", "token_revoked")
		if err := r.post(ctx, id("b"), held); err != nil {
			t.Error(err)
		}
		if w, err := r.Status(r.ada); err != nil || w.Status != Revoked || w.token != nil {
			t.Errorf("%+v %v", w, err)
		}
		r.last(1, "a")
	})
}

// What is taken of what Slack sends.
func TestReceiving(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := open(t, d)
		ctx := t.Context()
		if _, err := d.Exec(ctx, `INSERT INTO task (id, team_id, user_id, title, visibility, completion_delivery, stream_id, created_at)
			SELECT 't', team_id, user_id, '', 'team', '', '', 0 FROM member WHERE team_id = ? LIMIT 1`, r.w.TeamID); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Exec(ctx, `INSERT INTO slack_thread (id, team_id, slack_team, channel, thread_ts, task_id, user_id, slack_user)
			VALUES ('x', ?, 'T0BLUE', 'C0MAIN', '1.1', 't', 'u', 'U0ADA')`, r.w.TeamID); err != nil {
			t.Fatal(err)
		}
		send := func(at time.Time, event string) Taken {
			body := []byte(`{"type": "event_callback", "team_id": "T0BLUE", "event_id": "Ev` + event[1:2] + `", "event": {` + event + `, "ts": "1.2"}}`)
			_, taken, err := r.Receive(ctx, "", slacktest.Sign(body, at), body)
			if err != nil {
				t.Fatal(err)
			}
			return taken
		}
		stored := func() int {
			n, err := db.Value[int](ctx, d, `SELECT count(*) FROM river_job WHERE kind = 'slack.event'`)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		now := time.Now()
		for want, events := range map[string][]string{
			"taken": {
				`"0":0, "type": "message", "channel_type": "im", "user": "U0ADA", "channel": "D0ADA", "text": "check it"`,
				`"1":0, "type": "app_mention", "user": "U0BOB", "channel": "C0MAIN", "text": "<@U0BOT> check it"`,
				`"2":0, "type": "message", "user": "U0ADA", "channel": "C0MAIN", "thread_ts": "1.1", "text": "more"`,
			},
			"ignored": {
				`"3":0, "type": "message", "user": "U0BOB", "channel": "C0MAIN", "thread_ts": "1.1", "text": "aside"`,
				`"4":0, "type": "message", "user": "U0ADA", "channel": "C0MAIN", "text": "aside"`,
				`"5":0, "type": "message", "user": "U0ADA", "channel": "C0MAIN", "thread_ts": "1.1", "text": "<@U0BOT> comes as a mention too"`,
				`"6":0, "type": "message", "channel_type": "im", "user": "U0BOT", "channel": "D0ADA", "text": "of ours"`,
				`"7":0, "type": "message", "channel_type": "im", "bot_id": "B1", "user": "U0ADA", "channel": "D0ADA", "text": "of a program"`,
			},
		} {
			for _, event := range events {
				before := stored()
				for range 2 {
					if taken := send(now, event); taken != Accepted {
						t.Errorf("%s: %d", event, taken)
					}
				}
				if more := stored() - before; (more == 1) != (want == "taken") || more > 1 {
					t.Errorf("%s: %d jobs", event, more)
				}
			}
		}
		if taken := send(now.Add(-slack.MaxAge-time.Minute), `"8":0, "type": "app_mention"`); taken != Unsigned {
			t.Errorf("an old one: %d", taken)
		}
		if _, taken, err := r.Receive(ctx, r.w.ID, http.Header{}, nil); taken != Unsigned || err != nil {
			t.Errorf("the address of an app of the team's, which has none: %d %v", taken, err)
		}
		send(now, `"9":0, "type": "app_uninstalled"`)
		if w, err := r.Status(r.ada); err != nil || w.Status != Revoked || w.token != nil {
			t.Errorf("%+v %v", w, err)
		}
		before := stored()
		if send(now, `"a":0, "type": "app_mention", "user": "U0BOB", "channel": "C0MAIN", "text": "<@U0BOT> check it"`); stored() != before {
			t.Error("it is taken after the end")
		}
	})
}
