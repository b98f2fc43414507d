<?php
// Cars are kept in XML, and are asked for by XPath.
$weak = getenv('LAB_VARIANT') === 'weak';
$xml = simplexml_load_string('<cars><car public="1"><make>Saab</make><km>90000</km></car><car public="1"><make>Lada</make><km>140000</km></car><car public="0"><make>Bentley (reserved)</make><km>10</km></car></cars>');
$make = $_GET['make'] ?? '';
$clean = preg_replace('/[^\w ]/', '', $make);
$found = $make === '' ? [] : @$xml->xpath("//car[@public='1' and make='" . ($weak ? $make : $clean) . "']");
?><!doctype html><html><head><title>Used cars</title></head><body><form><select name="make"><option>Saab</option><option>Lada</option></select><button>Show</button></form>
<?php foreach ($found ?: [] as $car) { echo '<p>', htmlspecialchars($car->make), ', ', (int) $car->km, ' km</p>'; } ?>
<a href="/">All</a></body></html>
