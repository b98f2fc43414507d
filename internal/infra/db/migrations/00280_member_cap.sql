-- +goose Up
-- A team's cap of a member bounds what they spend in that team. user_account.spending_cap_cents is the operator's, for
-- all teams together.
ALTER TABLE member ADD COLUMN spending_cap_cents BIGINT; -- NULL: the team's default
ALTER TABLE member ADD COLUMN spent_cents BIGINT NOT NULL DEFAULT 0;

-- Admins of teams have set the present caps.
UPDATE member SET spending_cap_cents =
	(SELECT u.spending_cap_cents FROM user_account u WHERE u.id = member.user_id);
UPDATE user_account SET spending_cap_cents = NULL;

-- kind 'member' is a user in all teams; 'team_member' is TEAM/USER.
INSERT INTO spending (kind, id, reserved, spent)
	SELECT 'team_member', team_id || '/' || user_id, CAST(sum(coalesce(spent, reserved)) AS BIGINT),
		CAST(sum(coalesce(spent, 0)) AS BIGINT)
	FROM reservation GROUP BY team_id, user_id;
UPDATE member SET spent_cents = coalesce((SELECT (s.spent + 9999) / 10000 FROM spending s
	WHERE s.kind = 'team_member' AND s.id = member.team_id || '/' || member.user_id), 0);

-- +goose Down
UPDATE user_account SET spending_cap_cents = coalesce(spending_cap_cents,
	(SELECT min(m.spending_cap_cents) FROM member m WHERE m.user_id = user_account.id));
DELETE FROM spending WHERE kind = 'team_member';
ALTER TABLE member DROP COLUMN spent_cents;
ALTER TABLE member DROP COLUMN spending_cap_cents;
