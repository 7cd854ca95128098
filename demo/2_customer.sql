-- A golden record: three systems know a part of each customer.
--
-- The CRM knows names, billing knows e-mail addresses, the loyalty programme
-- knows phone numbers. Some customers are in one feed, some in two or three;
-- feeds send a customer twice, and NULLs, which must erase nothing.

CREATE SCHEMA demo_customer;
SET search_path = demo_customer, public;

\echo
\echo '(b) One customer record from three feeds'
\echo

CREATE TABLE customer (
	customer_id int PRIMARY KEY, name text, email text, phone text
) USING merge_engine WITH (merge_engine = 'partial-update');

\copy customer (customer_id, name) FROM 'test/data/customer_crm.csv' CSV HEADER
\copy customer (customer_id, email) FROM 'test/data/customer_billing.csv' CSV HEADER
\copy customer (customer_id, phone) FROM 'test/data/customer_loyalty.csv' CSV HEADER
\echo 'Three COPY commands, each with the columns that its feed knows:'
SELECT * FROM customer ORDER BY customer_id;

-- The same, computed without the extension: the raw rows in ordinary tables,
-- and for each column the last value that is not NULL.
CREATE TABLE crm (line int GENERATED ALWAYS AS IDENTITY, customer_id int, name text);
CREATE TABLE billing (line int GENERATED ALWAYS AS IDENTITY, customer_id int, email text);
CREATE TABLE loyalty (line int GENERATED ALWAYS AS IDENTITY, customer_id int, phone text);
\copy crm (customer_id, name) FROM 'test/data/customer_crm.csv' CSV HEADER
\copy billing (customer_id, email) FROM 'test/data/customer_billing.csv' CSV HEADER
\copy loyalty (customer_id, phone) FROM 'test/data/customer_loyalty.csv' CSV HEADER

CREATE VIEW computed AS
SELECT customer_id,
	(SELECT name FROM crm c WHERE c.customer_id = k.customer_id AND name IS NOT NULL ORDER BY line DESC LIMIT 1),
	(SELECT email FROM billing b WHERE b.customer_id = k.customer_id AND email IS NOT NULL ORDER BY line DESC LIMIT 1),
	(SELECT phone FROM loyalty l WHERE l.customer_id = k.customer_id AND phone IS NOT NULL ORDER BY line DESC LIMIT 1)
FROM (SELECT customer_id FROM crm UNION SELECT customer_id FROM billing UNION SELECT customer_id FROM loyalty) AS k;

\o /dev/null
SELECT pg_temp.expect('customers', (SELECT count(*)::text FROM customer), '12');
SELECT pg_temp.expect('customer', pg_temp.rows('customer'), pg_temp.rows('computed'));
\o

-- The feeds in each of their six orders.
DO $$
DECLARE
	feeds text[];
	feed text;
	loads jsonb := '{"crm": "name", "billing": "email", "loyalty": "phone"}';
BEGIN
	FOR feeds IN
		SELECT ARRAY[a, b, c]
		FROM jsonb_object_keys(loads) a, jsonb_object_keys(loads) b, jsonb_object_keys(loads) c
		WHERE a <> b AND b <> c AND c <> a
	LOOP
		TRUNCATE customer;
		FOREACH feed IN ARRAY feeds LOOP
			EXECUTE format('INSERT INTO customer (customer_id, %1$I) SELECT customer_id, %1$I FROM %2$I ORDER BY line',
						   loads ->> feed, feed);
		END LOOP;
		PERFORM pg_temp.expect('customer from ' || feeds::text, pg_temp.rows('customer'), pg_temp.rows('computed'));
	END LOOP;
END
$$;
\echo 'The feeds in each of their six orders give this table, and so does a'
\echo 'computation over the raw rows in plain SQL.'
