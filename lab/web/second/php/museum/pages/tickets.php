<h1>Tickets</h1><p>Adults 8, children 4</p>
<?php return true; ?>
