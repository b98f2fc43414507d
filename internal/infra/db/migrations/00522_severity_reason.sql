-- +goose Up
-- Why a team gives findings another severity, and the CVSS vector that the severity is taken from (package
-- core/finding/override); empty: none.
ALTER TABLE finding_severity ADD COLUMN reason TEXT NOT NULL DEFAULT '';
ALTER TABLE finding_severity ADD COLUMN vector TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE finding_severity DROP COLUMN vector;
ALTER TABLE finding_severity DROP COLUMN reason;
