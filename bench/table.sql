-- A contender's table for those orders: the same for all, but for :using.
CREATE TABLE t (
	id bigint PRIMARY KEY, status text, customer int, amount numeric(18,2),
	tracking_no text, address text, updated_at timestamptz, version bigint
) :using;
