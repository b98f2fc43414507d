-- What each PHP application has in a database of its own. All data is fictitious.
CREATE TABLE users (id INT PRIMARY KEY, name VARCHAR(200) UNIQUE, pass VARCHAR(200), mail VARCHAR(200), phone VARCHAR(40),
  role VARCHAR(40), website VARCHAR(500) DEFAULT '');
INSERT INTO users (id, name, pass, mail, phone, role) VALUES
  (1, 'root', SHA2('root-Pass9', 256), 'root@lab.example', '555-0001', 'admin'),
  (11, 'anna', SHA2('anna-Pass1', 256), 'anna@lab.example', '555-0111', 'customer'),
  (12, 'ben', SHA2('ben-Pass2', 256), 'ben@lab.example', '555-0112', 'customer');
CREATE TABLE orders (id INT PRIMARY KEY, owner VARCHAR(200), goods VARCHAR(200), address VARCHAR(200));
INSERT INTO orders VALUES (101, 'anna', 'lamp', 'Mill Lane 3'), (102, 'anna', 'desk', 'Mill Lane 3'),
  (103, 'ben', 'sofa', 'Harbour 9'), (104, 'ben', 'chair', 'Harbour 9');
CREATE TABLE items (id INT PRIMARY KEY, name VARCHAR(200), price INT, owner VARCHAR(200));
INSERT INTO items VALUES (1, 'chair', 30, 'warehouse'), (2, 'table', 80, 'warehouse'), (3, 'lamp', 120, 'warehouse'),
  (4, 'desk', 200, 'warehouse'), (5, 'sofa', 500, 'warehouse');
CREATE TABLE notes (name VARCHAR(40) PRIMARY KEY, owner VARCHAR(200), text VARCHAR(500));
INSERT INTO notes VALUES ('n-501', 'anna', 'dentist at nine'), ('n-502', 'ben', 'the safe is 4-17-33');
CREATE TABLE book (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(200), text VARCHAR(500));
INSERT INTO book (name, text) VALUES ('root', 'Be nice.');
CREATE TABLE tokens (token VARCHAR(64) PRIMARY KEY, name VARCHAR(200));
CREATE TABLE live (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(200), random VARCHAR(64));
CREATE TABLE letters (mail VARCHAR(9000), since TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE counters (page VARCHAR(200), n INT);
INSERT INTO counters VALUES ('home', 0);
CREATE TABLE outbox (mail VARCHAR(200) PRIMARY KEY, text VARCHAR(500));
CREATE TABLE tries (name VARCHAR(200), at INT);
CREATE TABLE used (name VARCHAR(200), percent INT);
