-- +goose Up
ALTER TABLE issue RENAME COLUMN judged TO result; -- of verifying it, so that it is not verified again after a crash

-- +goose Down
ALTER TABLE issue RENAME COLUMN result TO judged;
