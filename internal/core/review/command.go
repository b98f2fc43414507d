package review

import (
	"context"
	"fmt"

	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// ObeyArgs are the arguments of the job that obeys a command in a comment.
type ObeyArgs struct {
	Repo    string `json:"repo"`
	Pull    int    `json:"pull"`
	Comment int64  `json:"comment"`
	Login   string `json:"login"`
	Command string `json:"command"`
}

// Kind implements queue.Args.
func (ObeyArgs) Kind() string { return "github.command" }

const help = "Vedette reads the lines that a pull request adds.\n\n" +
	"- `/vedette review` reviews the present commit, again if need be.\n- `/vedette help` writes this.\n"

// Obey obeys a command, if it is by somebody with write access. Others get no answer.
func (rs *Reviews) Obey(ctx context.Context, job queue.Job[ObeyArgs]) error {
	if rs.app == nil {
		return ErrNotConfigured
	}
	a := job.Args
	r, err := scanRepo(rs.db.QueryRow(ctx, `SELECT `+repoColumns+` WHERE r.id = ?`, a.Repo))
	if db.IsNoRows(err) || err == nil && r.status != Active {
		return nil // it was disconnected
	}
	if err != nil {
		return err
	}
	err = rs.obey(ctx, r, a, func() error {
		return rs.db.Tx(ctx, func(tx *db.Tx) error { return job.CheckLease(ctx, tx) })
	})
	if noted := rs.note(ctx, r.Install, err); noted != nil {
		return noted
	}
	if _, retry := apiclient.RetryAfter(err); !retry {
		return nil // it is noted, and would fail again
	}
	return err
}

func (rs *Reviews) obey(ctx context.Context, r Repository, a ObeyArgs, held func() error) error {
	hub := rs.app.Repo(r.InstallationID, r.FullName)
	if may, err := hub.MayWrite(ctx, a.Login); err != nil || !may {
		return err
	}
	if a.Command == sayHelp {
		mark := fmt.Sprintf("<!-- vedette:help:%d -->", a.Comment)
		id, err := hub.FindComment(ctx, a.Pull, mark)
		if err == nil && id == 0 {
			err = held()
		}
		if err != nil || id != 0 {
			return err
		}
		_, err = hub.Comment(ctx, a.Pull, help+mark)
		return err
	}
	pull, err := hub.Pull(ctx, a.Pull)
	if err != nil || pull.State != "open" {
		return err
	}
	return rs.db.Tx(ctx, func(tx *db.Tx) error {
		_, err := rs.begin(ctx, tx, r, pull, command)
		return err
	})
}
