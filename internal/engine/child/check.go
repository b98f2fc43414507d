package child

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// checkCompute bounds the processor's time for compiling a template that somebody waits for.
const checkCompute = 5 * time.Second

// Check has a child compile a template that may name no files. It fails with Invalid, template_ends_engine, when that
// ends the child; whatever else is wrong with the template is for those who compile it next, in their own process.
func (p *Pool) Check(ctx context.Context, path string, text []byte) error {
	if p.config.InProcess {
		return nil
	}
	digest := sha256.Sum256(text)
	r, err := p.Run(ctx, Job{
		Templates: []Template{{Path: path, Digest: hex.EncodeToString(digest[:]), Data: text}},
		Compute:   min(checkCompute, p.config.Compute),
		slots:     p.checks, // a flood of templates must not become a flood of processes
	})
	why := ""
	if died, is := errors.AsType[*Died](err); is {
		why = died.Why
	} else if err != nil {
		return err
	}
	if r != nil && len(r.Ended) > 0 {
		why = r.Ended[0].Why
	}
	if why == "" {
		return nil
	}
	return errs.New(errs.Invalid, "template_ends_engine", "%.200s: compiling it ends the engine: %s.", path, why)
}

// Trial does a small job that somebody waits for: it does not queue behind scans, and its template may compute for a
// short time. Errors are those of Run.
func (p *Pool) Trial(ctx context.Context, job Job) (*Result, error) {
	job.slots, job.Compute = p.checks, min(checkCompute, p.config.Compute)
	return p.Run(ctx, job)
}
