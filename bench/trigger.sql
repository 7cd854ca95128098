-- The rival that lets INSERT and COPY alone: a BEFORE INSERT trigger.
CREATE FUNCTION upsert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE t SET
		status = coalesce(NEW.status, status), customer = coalesce(NEW.customer, customer),
		amount = coalesce(NEW.amount, amount), tracking_no = coalesce(NEW.tracking_no, tracking_no),
		address = coalesce(NEW.address, address), updated_at = coalesce(NEW.updated_at, updated_at),
		version = NEW.version
	WHERE id = NEW.id AND version < NEW.version;
	IF FOUND OR EXISTS (SELECT FROM t WHERE id = NEW.id) THEN
		RETURN NULL;
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER upsert BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION upsert();
