package enumeration

import (
	"context"

	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// ScanArgs is the job that scans the new assets of a run.
type ScanArgs struct {
	EnumerationID string `json:"enumeration_id"`
	Run           int64  `json:"run"`
}

// Kind implements queue.Args.
func (ScanArgs) Kind() string { return "enumeration.scan" }

// queueScan inserts the job that scans the new assets of a finished run, if the configuration asks for it.
func (es *Enumerations) queueScan(ctx context.Context, tx *db.Tx, teamID string, r run.Ref) error {
	config, err := es.config(ctx, tx, r.ID)
	if err != nil || !config.AutomaticScans {
		return err
	}
	_, err = es.queue.Insert(ctx, tx, teamID, ScanArgs{r.ID, r.Run})
	return err
}

// FindUnscanned is the enumeration of a run. ok is false when the run has a scan, or the enumeration was deleted.
func (es *Enumerations) FindUnscanned(ctx context.Context, a ScanArgs) (e Enumeration, ok bool, err error) {
	e, err = enumerationRow(es.db.QueryRow(ctx, `SELECT `+columns+` WHERE e.id = ? AND e.status <> ?
		AND EXISTS (SELECT 1 FROM enumeration_run n WHERE n.enumeration_id = e.id AND n.run = ? AND n.scan_id = '')`,
		a.EnumerationID, run.Deleted, a.Run))
	if db.IsNoRows(err) {
		return e, false, nil
	}
	return e, err == nil, err
}

// NoteScan records the scan of a run's new assets, in the transaction that makes the scan. It fails with ErrLate when
// there is one already, or the enumeration was deleted.
func (es *Enumerations) NoteScan(ctx context.Context, tx *db.Tx, a ScanArgs, scanID, detail string) error {
	noted, err := tx.Exec(ctx, `UPDATE enumeration_run SET scan_id = ? WHERE enumeration_id = ? AND run = ? AND scan_id = ''`,
		scanID, a.EnumerationID, a.Run)
	if err != nil {
		return err
	}
	if noted == 0 {
		return ErrLate
	}
	return es.addEvents(ctx, tx, a.EnumerationID, a.Run, []Event{
		{Kind: EventScan, Subject: scanID, Detail: detail, Times: 1},
	})
}

// NoteNoScan records why a run's new assets are not scanned.
func (es *Enumerations) NoteNoScan(ctx context.Context, a ScanArgs, why string) error {
	return es.db.Tx(ctx, func(tx *db.Tx) error {
		return es.addEvents(ctx, tx, a.EnumerationID, a.Run, []Event{
			{Kind: EventScan, Subject: "automatic_vuln_scans", Detail: why, Times: 1},
		})
	})
}
