-- +goose Up
-- The CVSS vector from which a change took a severity (package core/finding/timeline), so that an undo brings it back;
-- empty: none.
ALTER TABLE finding_change ADD COLUMN vector TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE finding_change DROP COLUMN vector;
