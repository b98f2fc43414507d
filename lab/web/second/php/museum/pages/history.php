<h1>History</h1><p>Founded in 1888.</p>
<?php return true; ?>
